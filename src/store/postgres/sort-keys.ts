import type pg from 'pg'
import { INDEXED_FIELDS } from '../../catalogue/book.ts'
import { COMPARED_LENGTH } from '../../catalogue/sort-key.ts'
import type { RunOn } from '../client-server/pool.ts'
import { type BookIndex, type BookKeys, STALE_BOOKS } from '../client-server/search-indexer.ts'
import { KEY_COLUMNS } from '../client-server/sort-keys.ts'
import { isKeyOf, KEYS_DUE_ID } from './dialect.ts'
import { IS_READ_ONLY } from './driver.ts'
import { indexOf } from './search-index.ts'

const TEXTS = INDEXED_FIELDS.map((name) => `left(coalesce(${name}, ''), ${COMPARED_LENGTH}) AS ${name}`)

// In this order, the index of books without keys is the only cheap plan, however many of them the planner expects.
const SELECT_STALE = `
  SELECT id, ${TEXTS}, ${IS_READ_ONLY} AS "isReadOnly"
  FROM books WHERE ${KEYS_DUE_ID} IS NOT NULL AND ${KEYS_DUE_ID} > $1::bigint
  ORDER BY ${KEYS_DUE_ID} LIMIT ${STALE_BOOKS}`

const NEW_KEYS = INDEXED_FIELDS.map((name) => `new_${name}`)
const STORE = `
  UPDATE books SET ${INDEXED_FIELDS.map((name, i) => `${KEY_COLUMNS[name]} = ${NEW_KEYS[i]}`)}
  FROM unnest($1::bigint[], ${INDEXED_FIELDS.map((_, i) => `$${i + 2}::text[]`)}) AS made (book, ${NEW_KEYS})
  WHERE id = book AND ${KEYS_DUE_ID} IS NOT NULL AND ${INDEXED_FIELDS.map((name) => isKeyOf(name, `new_${name}`)).join(' AND ')}`

export const postgresKeyIndex = (run: RunOn<pg.Client>): BookIndex<BookKeys> =>
  indexOf(run, SELECT_STALE, STORE, (books) => [
    books.map(({ id }) => id),
    ...INDEXED_FIELDS.map((_, i) => books.map(({ keys }) => keys[i])),
  ])
