import {
  type Book,
  FIELD_NAMES,
  type FieldName,
  INDEXED_FIELDS,
  type IndexedField,
  isNullable,
  isTextField,
  TEXT_FIELDS,
  type TextField,
} from '../../catalogue/book.ts'
import type { SortField } from '../../catalogue/query.ts'
import { SORT_KEY_VERSION, sortKey } from '../../catalogue/sort-key.ts'
import type { PageBounds } from '../../catalogue/store.ts'
import { type Dialect, orderBy } from '../query/dialect.ts'

/** The empty value of a field, in SQL. */
export const emptyOf = (name: FieldName) => (isTextField(name) ? "''" : 0)

/**
 * The value of a column. A NULL that the field does not allow counts as the empty value: in a table that others made,
 * all columns but the id may be NULL.
 * @param table with a dot, or empty.
 */
export const columnOrEmpty = (name: FieldName, table = '') =>
  isNullable(name) ? `${table}${name}` : `COALESCE(${table}${name}, ${emptyOf(name)})`

/** @param table with a dot, or empty. */
export const bookColumns = (table = '') =>
  `${table}id, ${FIELD_NAMES.map((name) => `${columnOrEmpty(name, table)} AS ${name}`).join(', ')}`
export const BOOK = bookColumns()

/** The columns with the sort keys of the texts; empty in a row that another program wrote. */
export const KEY_COLUMNS: Readonly<Record<IndexedField, string>> = {
  title: `title_key_${SORT_KEY_VERSION}`,
  author: `author_key_${SORT_KEY_VERSION}`,
}

/** The column, or on PostgreSQL the index, that tells which books have no sort keys, or those of earlier texts. */
export const KEYS_DUE = `sort_keys_${SORT_KEY_VERSION}_due`

/** @param fields whose sort keys are returned. */
export function keysOf(
  book: Readonly<Partial<Record<IndexedField, string>>>,
  fields: readonly IndexedField[] = INDEXED_FIELDS,
): string[] {
  return fields.map((name) => String(sortKey(name, book[name] ?? '')))
}

/** The beginnings of the texts that are indexed. @param length in characters. */
export const textsUpTo = (length: number) =>
  INDEXED_FIELDS.map((name) => `LEFT(COALESCE(${name}, ''), ${length}) AS ${name}`).join(', ')

/** A further column for the readiness check, to find out whether books can be read. */
export const ANY_BOOK = ', (SELECT year FROM books WHERE id = 1) AS year'

/** The size of a title and an author, in bytes of UTF-8. */
const TEXT_SIZE = TEXT_FIELDS.map((name) => `OCTET_LENGTH(COALESCE(${name}, ''))`).join(' + ')

/**
 * The statement that reads the first books of a selection, and the sort keys of `texts`, in the SQL that all servers
 * share. It reads the sizes first, so that the server never holds a whole page of long texts in memory. It limits the
 * books before it adds up their sizes: otherwise, MariaDB would add up those of all books to the end of the table.
 */
export function selectPage(
  { where, fields }: { readonly where: string; readonly fields: readonly SortField[] },
  dialect: Pick<Dialect, 'key'>,
  { books, text }: PageBounds,
  texts: readonly IndexedField[] = [],
): string {
  const names = new Set([...fields.map(({ name }) => name), ...texts])
  const keys = Array.from(names, (name) => `${dialect.key(name)} AS sort_${name}`).join(', ')
  const orderIn = (table: string) => orderBy(fields, { key: (name) => `${table}.sort_${name}` })
  return `
    SELECT ${[BOOK, ...texts.map((name) => `sizes.sort_${name}`)]}
    FROM books JOIN (
      SELECT candidates.*, SUM(size)
        OVER (ORDER BY ${orderIn('candidates')} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS text_before
      FROM (
        SELECT id, ${keys}, ${TEXT_SIZE} AS size
        FROM books WHERE ${where} ORDER BY ${orderBy(fields, dialect)} LIMIT ${books}
      ) candidates
    ) sizes USING (id)
    WHERE COALESCE(sizes.text_before, 0) < ${text} ORDER BY ${orderIn('sizes')}`
}

const isShort = (bytes: number) => `${TEXT_SIZE} <= ${bytes}`

/** The columns of a book. If it has more bytes of text than this, all texts are NULL. */
export function shortBook(bytes: number): string {
  const columns = FIELD_NAMES.map((name) => {
    const value = columnOrEmpty(name)
    return `${isTextField(name) ? `CASE WHEN ${isShort(bytes)} THEN ${value} END` : value} AS ${name}`
  })
  return `id, ${columns.join(', ')}`
}

/** Batches leave out books with more bytes of text, because many of them together would take too much memory. */
const MAX_TEXT = 32 * 1024
export const IS_SHORT = isShort(MAX_TEXT)
export const SHORT_BOOK = shortBook(MAX_TEXT)

/** A row with the columns of `shortBook`. */
export type ShortBookRow = Book | (Omit<Book, TextField> & Readonly<Record<TextField, null>>)

export const areBooks = (rows: readonly ShortBookRow[]): rows is Book[] =>
  rows.every(({ title }) => title !== null)
