import type { Connection } from 'mysql2/promise'
import { INDEXED_FIELDS } from '../../catalogue/book.ts'
import { COMPARED_LENGTH, textOfKey } from '../../catalogue/sort-key.ts'
import type { RunOn } from '../client-server/pool.ts'
import { type BookIndex, type BookKeys, STALE_BOOKS } from '../client-server/search-indexer.ts'
import { KEY_COLUMNS, KEYS_DUE } from '../client-server/sort-keys.ts'
import { caseOfId } from './books.ts'
import { IS_READ_ONLY } from './driver.ts'
import { indexOf } from './search-index.ts'

const TEXTS = INDEXED_FIELDS.map((name) => `LEFT(COALESCE(${name}, ''), ${COMPARED_LENGTH}) AS ${name}`)

// Without the hint, the server may read the whole table in the order of ids.
const SELECT_STALE = `
  SELECT id, ${TEXTS}, ${IS_READ_ONLY} AS isReadOnly
  FROM books FORCE INDEX (books_by_${KEYS_DUE}) WHERE ${KEYS_DUE} = 1 AND id > ? ORDER BY id LIMIT ${STALE_BOOKS}`

const LOCK = `SELECT id, ${TEXTS} FROM books WHERE id IN (?) AND ${KEYS_DUE} = 1 ORDER BY id FOR UPDATE`

export const mysqlKeyIndex = (run: RunOn<Connection>): BookIndex<BookKeys> =>
  indexOf(run, SELECT_STALE, LOCK, {
    isOf: ({ keys }, book) => INDEXED_FIELDS.every((name, i) => book[name] === textOfKey(keys[i] ?? '')),
    async store(connection, books) {
      const ids = books.map(({ id }) => id)
      const set = INDEXED_FIELDS.map((name) => `${KEY_COLUMNS[name]} = ${caseOfId(ids)}`)
      const values = INDEXED_FIELDS.flatMap((_, i) => books.flatMap(({ id, keys }) => [id, keys[i]]))
      await connection.query(`UPDATE books SET ${set} WHERE id IN (?)`, [...values, ids])
    },
  })
