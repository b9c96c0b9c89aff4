import type { ServerEngine } from '../../support/database-server.ts'

/** Tables that others made before the service came, by what they are like. */
interface Tables {
  /** Statements that make a table that can hold every book. */
  readonly suiting: Readonly<Record<string, string>>
  /** Statements that make one that cannot, and what the refusal has to say. */
  readonly unsuiting: Readonly<Record<string, readonly [sql: string, says: RegExp]>>
}

/**
 * Columns beside those that GORM makes, or instead of them; one without a type is left out. The administrator makes
 * the table, and the service may do with it what it has to.
 */
const postgresTable = (columns: Record<string, string> = {}, kind = 'TABLE') =>
  [
    create(kind, { id: 'bigserial PRIMARY KEY', title: 'text', author: 'text', year: 'bigint', ...columns }),
    'GRANT SELECT, INSERT, UPDATE, DELETE ON books TO PUBLIC',
    'GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO PUBLIC',
  ].join(';')

const mysqlTable = (columns: Record<string, string> = {}, options = 'DEFAULT CHARSET=utf8mb4') => {
  const id = 'bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY'
  return `${create('TABLE', { id, title: 'longtext', author: 'longtext', year: 'bigint', ...columns })} ${options}`
}

function create(kind: string, columns: Record<string, string>): string {
  const defined = Object.entries(columns).filter(([, type]) => type !== '')
  return `CREATE ${kind} books (${defined.map((column) => column.join(' ')).join(', ')})`
}

/** The table that GORM makes. */
export const GORM: Readonly<Record<ServerEngine, string>> = { postgres: postgresTable(), mysql: mysqlTable() }

const postgres: Tables = {
  suiting: {
    'in a collation that takes letters for equal, and varchar without a limit': [
      "CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level1-ka-shifted', deterministic = false)",
      postgresTable({ title: 'text COLLATE alike', author: 'varchar COLLATE alike' }),
    ].join(';'),
    'with columns of its own, small ids, and no primary key': postgresTable({
      id: 'serial',
      year: 'bigint DEFAULT 7',
      author: "text DEFAULT 'unknown'",
      created_at: 'timestamptz NOT NULL DEFAULT now()',
      isbn: "text NOT NULL DEFAULT ''",
      serial: 'bigint GENERATED ALWAYS AS IDENTITY',
      length: "integer GENERATED ALWAYS AS (length(coalesce(title, ''))) STORED",
    }),
  },
  unsuiting: {
    'without a title': [postgresTable({ title: '' }), /\bno column title, .* text\b/],
    'without an id': [postgresTable({ id: '' }), /\bno column id, .* bigint\b/],
    'with a title of 255 characters': [
      postgresTable({ title: 'varchar(255)' }),
      /\btitle is character varying\(255\) .* text\b/,
    ],
    'with an id that the client has to give': [
      postgresTable({ id: 'bigint PRIMARY KEY' }),
      /\bid does not get a value by itself\b/,
    ],
    'with an id that is no integer': [
      postgresTable({ id: 'uuid PRIMARY KEY DEFAULT gen_random_uuid()' }),
      /\bid is uuid .* bigint\b/,
    ],
    'with another column that the client has to give': [
      postgresTable({ isbn: 'text NOT NULL' }),
      /\bisbn has no default\b/,
    ],
    'that a crash empties': [postgresTable({}, 'UNLOGGED TABLE'), /\bUNLOGGED\b.* LOGGED\b/],
    'with several faults': [
      postgresTable({ author: 'char(99)', year: 'numeric' }),
      /\bauthor is character\(99\) .* text; year is numeric .* bigint\b/,
    ],
  },
}

const mysql: Tables = {
  suiting: {
    'in collations that take letters for equal, in a table of latin1': mysqlTable(
      {
        title: 'mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci',
        author: 'longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
      },
      'DEFAULT CHARSET=latin1',
    ),
    'with columns of its own, and small ids': mysqlTable({
      id: 'int NOT NULL AUTO_INCREMENT PRIMARY KEY',
      year: 'bigint DEFAULT 7',
      author: 'mediumtext',
      created_at: 'timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP',
      updated_at: 'timestamp NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP',
      isbn: "varchar(20) NOT NULL DEFAULT ''",
      length: 'bigint GENERATED ALWAYS AS (CHAR_LENGTH(title)) STORED',
    }),
  },
  unsuiting: {
    'without a title': [mysqlTable({ title: '' }), /\bno column title, .* mediumtext utf8mb4\b/],
    'without an id': [mysqlTable({ id: '' }), /\bno column id, .* bigint\b/],
    'with years after Christ only': [
      mysqlTable({ year: 'bigint unsigned' }),
      /\byear is bigint unsigned .* bigint\b/,
    ],
    'with an author of 64 KiB': [
      mysqlTable({ author: 'text' }),
      /\bauthor is text utf8mb4 .* mediumtext utf8mb4\b/,
    ],
    'with texts in latin1, and a year of 32 bits': [
      mysqlTable({ year: 'int' }, 'DEFAULT CHARSET=latin1'),
      /\btitle is longtext latin1 .* mediumtext utf8mb4; author is longtext latin1 .*; year is int .* bigint\b/,
    ],
    'with a title without emoji': [
      mysqlTable({ title: 'longtext CHARACTER SET utf8mb3' }),
      /\btitle is longtext utf8(mb3)? .* mediumtext utf8mb4\b/,
    ],
    'with a title of bytes': [
      mysqlTable({ title: 'longblob' }),
      /\btitle is longblob .* mediumtext utf8mb4\b/,
    ],
    'with an id that the client has to give': [
      mysqlTable({ id: 'bigint PRIMARY KEY' }),
      /\bid does not get a value by itself\b/,
    ],
    'with another column that the client has to give': [
      mysqlTable({ isbn: 'varchar(20) NOT NULL' }),
      /\bisbn has no default\b/,
    ],
    'that MyISAM keeps': [mysqlTable({}, 'ENGINE=MyISAM DEFAULT CHARSET=utf8mb4'), /\bMyISAM\b.* InnoDB\b/],
  },
}

export const TABLES: Readonly<Record<ServerEngine, Tables>> = { postgres, mysql }

/** What lets the user of a database change the table. */
export const give = (engine: ServerEngine, name: string): string[] =>
  engine === 'postgres' ? [`ALTER TABLE books OWNER TO ${name}`] : []

/** What leaves the user nothing but to read and write the rows. */
export const restrict = (engine: ServerEngine, name: string): string[] =>
  engine === 'postgres'
    ? ['ALTER TABLE books OWNER TO CURRENT_USER']
    : [
        `REVOKE ALL PRIVILEGES, GRANT OPTION FROM '${name}'@'%'`,
        `GRANT SELECT, INSERT, UPDATE, DELETE ON \`${name}\`.* TO '${name}'@'%'`,
      ]
