import type { ServerEngine } from '../../support/database-server.ts'

/** Tables that others made before the service came. */
interface Tables {
  /** Statements that make a table that can hold every book, though it differs from its own in all that may differ. */
  readonly suiting: string
  /** Statements that make one that cannot, with everything that the refusal has to say. */
  readonly unsuiting: readonly (readonly [sql: string, ...says: RegExp[]])[]
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

/** Names that the statements of the service use too. */
const NAMES =
  'part total book books word words fingerprint given new imported indexed size sizes candidates created place sort_key'
const SAME_NAMES = Object.fromEntries(NAMES.split(' ').map((name) => [name, 'integer']))

/** The table that GORM makes. */
export const GORM: Readonly<Record<ServerEngine, string>> = { postgres: postgresTable(), mysql: mysqlTable() }

const postgres: Tables = {
  // No primary key, and a collation that takes letters for equal.
  suiting: [
    "CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level1-ka-shifted', deterministic = false)",
    postgresTable({
      id: 'serial',
      title: 'text COLLATE alike',
      author: "varchar COLLATE alike DEFAULT 'unknown'",
      year: 'bigint DEFAULT 7',
      created_at: 'timestamptz NOT NULL DEFAULT now()',
      isbn: "text NOT NULL DEFAULT ''",
      serial: 'bigint GENERATED ALWAYS AS IDENTITY',
      ...SAME_NAMES,
      length: "integer GENERATED ALWAYS AS (length(coalesce(title, ''))) STORED",
    }),
  ].join(';'),
  unsuiting: [
    [
      postgresTable({ id: '', title: '', isbn: 'text NOT NULL' }),
      /\bno column id, .* bigint\b/,
      /\bno column title, .* text\b/,
      /\bisbn has no default\b/,
    ],
    [
      postgresTable({ id: 'bigint PRIMARY KEY', title: 'varchar(255)', author: 'char(99)', year: 'numeric' }),
      /\bid does not get a value by itself\b/,
      /\btitle is character varying\(255\) .* text; author is character\(99\) .* text; year is numeric .* bigint\b/,
    ],
    [postgresTable({}, 'UNLOGGED TABLE'), /\bUNLOGGED\b.* LOGGED\b/],
  ],
}

const mysql: Tables = {
  suiting: mysqlTable(
    {
      id: 'int NOT NULL AUTO_INCREMENT PRIMARY KEY',
      title: 'mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci',
      author: 'longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
      year: 'bigint DEFAULT 7',
      created_at: 'timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP',
      updated_at: 'timestamp NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP',
      isbn: "varchar(20) NOT NULL DEFAULT ''",
      ...SAME_NAMES,
      length: 'bigint GENERATED ALWAYS AS (CHAR_LENGTH(title)) STORED',
    },
    'DEFAULT CHARSET=latin1',
  ),
  unsuiting: [
    [
      mysqlTable({ id: '', title: '', isbn: 'varchar(20) NOT NULL' }),
      /\bno column id, .* bigint\b/,
      /\bno column title, .* mediumtext utf8mb4\b/,
      /\bisbn has no default\b/,
    ],
    [
      mysqlTable({
        id: 'bigint PRIMARY KEY',
        title: 'longtext CHARACTER SET utf8mb3',
        author: 'text',
        year: 'bigint unsigned',
      }),
      /\bid does not get a value by itself\b/,
      /\btitle is longtext utf8(mb3)? .* mediumtext utf8mb4; author is text utf8mb4 .* mediumtext utf8mb4;/,
      /\byear is bigint unsigned .* bigint\b/,
    ],
    [mysqlTable({}, 'ENGINE=MyISAM DEFAULT CHARSET=utf8mb4'), /\bMyISAM\b.* InnoDB\b/],
  ],
}

export const TABLES: Readonly<Record<ServerEngine, Tables>> = { postgres, mysql }

/** What leaves the user nothing but to read and write the rows. */
export const restrict = (engine: ServerEngine, name: string): string[] =>
  engine === 'postgres'
    ? ['ALTER TABLE books OWNER TO CURRENT_USER']
    : [
        `REVOKE ALL PRIVILEGES, GRANT OPTION FROM '${name}'@'%'`,
        `GRANT SELECT, INSERT, UPDATE, DELETE ON \`${name}\`.* TO '${name}'@'%'`,
      ]
