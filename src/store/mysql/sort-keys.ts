import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import { INDEXED_FIELDS } from '../../catalogue/book.ts'
import { COMPARED_LENGTH, textOfKey } from '../../catalogue/sort-key.ts'
import type { RunOn } from '../client-server/pool.ts'
import {
  type BookIndex,
  type BookKeys,
  STALE_BOOKS,
  type StaleBook,
} from '../client-server/search-indexer.ts'
import { KEY_COLUMNS, KEYS_DUE } from '../client-server/sort-keys.ts'
import { IS_READ_ONLY } from './driver.ts'

const TEXTS = INDEXED_FIELDS.map((name) => `LEFT(COALESCE(${name}, ''), ${COMPARED_LENGTH}) AS ${name}`)

// Without the hint, the server may read the whole table in the order of ids.
const SELECT_STALE = `
  SELECT id, ${TEXTS}, ${IS_READ_ONLY} AS isReadOnly
  FROM books FORCE INDEX (books_by_${KEYS_DUE}) WHERE ${KEYS_DUE} = 1 AND id > ? ORDER BY id LIMIT ${STALE_BOOKS}`

const LOCK = `SELECT id, ${TEXTS} FROM books WHERE id IN (?) AND ${KEYS_DUE} = 1 ORDER BY id FOR UPDATE`

export function mysqlKeyIndex(run: RunOn<Connection>): BookIndex<BookKeys> {
  return {
    stale: (after) =>
      run(async (connection) => {
        const [rows] = await connection.query<(StaleBook & RowDataPacket)[]>(SELECT_STALE, [after])
        return rows
      }),
    store: (books) => run((connection) => store(connection, books)),
  }
}

async function store(connection: Connection, books: readonly BookKeys[]): Promise<number> {
  await connection.beginTransaction()
  const ids = books.map(({ id }) => id)
  const [locked] = await connection.query<(StaleBook & RowDataPacket)[]>(LOCK, [ids])
  const texts = new Map(locked.map((book) => [book.id, book]))
  const unchanged = books.filter(({ id, keys }) =>
    INDEXED_FIELDS.every((name, i) => texts.get(id)?.[name] === textOfKey(keys[i] ?? '')),
  )
  if (unchanged.length > 0) {
    const set = INDEXED_FIELDS.map((name) => `${KEY_COLUMNS[name]} = ${caseOf(unchanged)}`)
    const values = INDEXED_FIELDS.flatMap((_, i) => unchanged.flatMap(({ id, keys }) => [id, keys[i]]))
    await connection.query<ResultSetHeader>(`UPDATE books SET ${set} WHERE id IN (?)`, [
      ...values,
      unchanged.map(({ id }) => id),
    ])
  }
  await connection.commit()
  return unchanged.length
}

const caseOf = (books: readonly unknown[]) => `CASE id ${'WHEN ? THEN ? '.repeat(books.length)}END`
