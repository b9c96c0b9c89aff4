import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import type { NewBook } from '../../catalogue/book.ts'
import { sortKey } from '../../catalogue/query.ts'
import type { ImportedBook } from '../../catalogue/store.ts'
import type { ImportTransaction } from '../client-server/import.ts'

const INSERT = 'INSERT INTO books (title, author, year) VALUES ?'
const INSERT_WITH_IDS = 'INSERT INTO books (id, title, author, year) VALUES ?'

/** @param hasKeys whether the table has columns for the keys of orders, by which books are found. */
export function mysqlImport(connection: Connection, hasKeys: boolean): ImportTransaction {
  // The values are in the statement's text, as mysql2 writes lists of rows; SESSION has the mode that this needs.
  const insert = async (sql: string, rows: readonly (string | number)[][]) => {
    if (rows.length === 0) return 0
    const [{ affectedRows }] = await connection.query<ResultSetHeader>(sql, [rows])
    return affectedRows
  }
  const number = async (sql: string) => {
    const [rows] = await connection.query<({ value: number | null } & RowDataPacket)[]>(sql)
    return Number(rows[0]?.value ?? 0)
  }
  return {
    begin: () => connection.beginTransaction(),
    highestId: () => number('SELECT MAX(id) AS value FROM books'),
    insert: async (books, above) => {
      const existing = above === undefined ? undefined : await findEqual(connection, books, above, hasKeys)
      const added = books.filter((book) => !existing?.has(identity(book)))
      return insert(
        INSERT,
        added.map(({ title, author, year }) => [title, author, year]),
      )
    },
    insertWithIds: (books) =>
      insert(
        INSERT_WITH_IDS,
        books.map(({ id = 0, title, author, year }) => [id, title, author, year]),
      ),
    count: () => number('SELECT COUNT(*) AS value FROM books'),
    // InnoDB does so by itself.
    continueIds: async () => {},
    commit: () => connection.commit(),
    rollback: () => connection.rollback(),
  }
}

/** As they are found: texts as their bytes, because a collation may take different texts for the same. */
interface Found {
  readonly title: Buffer
  readonly author: Buffer
  readonly year: number
}
const bytes = (column: string) =>
  `CAST(CONVERT(COALESCE(${column}, '') USING utf8mb4) AS BINARY) AS ${column}`
const BYTES = `${bytes('title')}, ${bytes('author')}, COALESCE(year, 0) AS year`

/** The identities of those of the books that equal one with this id or a lower one, and of some others. */
async function findEqual(
  connection: Connection,
  books: readonly ImportedBook[],
  above: number,
  hasKeys: boolean,
): Promise<ReadonlySet<string>> {
  if (books.length === 0) return new Set()
  const unique = (of: (book: NewBook) => string | number) => [...new Set(books.map(of))]
  const titles = unique(({ title }) => title)
  const keys = hasKeys ? titles.map((title) => Buffer.from(String(sortKey(title)))) : titles
  const [rows] = await connection.query<(Found & RowDataPacket)[]>(
    `SELECT DISTINCT ${BYTES} FROM books WHERE ${hasKeys ? 'title_key' : "COALESCE(title, '')"} IN (?) AND id <= ?
     AND COALESCE(year, 0) IN (?) AND COALESCE(author, '') IN (?)`,
    [keys, above, unique(({ year }) => year), unique(({ author }) => author)],
  )
  return new Set(
    rows.map(({ title, author, year }) => identity({ title: `${title}`, author: `${author}`, year })),
  )
}

/** No text has a NUL. */
function identity({ title, author, year }: NewBook): string {
  return `${title}\0${author}\0${year}`
}
