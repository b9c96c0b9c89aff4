import { FIELD_NAMES, isTextField, type NewBook, TEXT_FIELDS } from '../../catalogue/book.ts'
import { STREAM_PAGE } from '../../catalogue/paginate.ts'
import { BY_ID, type SortField } from '../../catalogue/query.ts'
import type { PageBounds } from '../../catalogue/store.ts'
import { type Dialect, orderBy } from '../query/dialect.ts'

/**
 * The value of a column. In a table that others made, all of them but the id may be NULL.
 * @param table with a dot, or nothing.
 */
export const columnOrEmpty = (name: keyof NewBook, table = '') =>
  `COALESCE(${table}${name}, ${isTextField(name) ? "''" : 0})`

/** The columns of a book. */
export const BOOK = `id, ${FIELD_NAMES.map((name) => `${columnOrEmpty(name)} AS ${name}`).join(', ')}`

/** The size of a title and an author, in bytes of UTF-8. */
export const TEXT_SIZE = TEXT_FIELDS.map((name) => `OCTET_LENGTH(${columnOrEmpty(name)})`).join(' + ')

/** The books with a condition, in an order. */
interface Selection {
  readonly where: string
  readonly fields: readonly SortField[]
}

/**
 * The statement that reads the first books of a selection, in the SQL that all servers share. It reads the sizes
 * first, so that the server never holds a whole page of long texts in memory. It limits the books before it adds up
 * their sizes, because MariaDB would otherwise add up those of all books to the end of the table.
 */
export function selectPage(
  { where, fields }: Selection,
  dialect: Pick<Dialect, 'key'>,
  { books, text }: PageBounds,
): string {
  const names = new Set(fields.map(({ name }) => name))
  const keys = Array.from(names, (name) => `${dialect.key(name)} AS sort_${name}`).join(', ')
  const orderIn = (table: string) => orderBy(fields, { key: (name) => `${table}.sort_${name}` })
  return `
    SELECT ${BOOK}
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

/** The number of books on an uncut page of the list: their texts may have 131 bytes on average. */
export const UNCUT_BOOKS = 500

/** The statements that read a page of the list of all books. */
export interface ListStatements {
  /** Reads the page unless its texts are too long in total; then nothing. Its values are the last id, twice. */
  readonly uncut: string
  /** Reads the page, cut where its texts become too long. Its value is the last id. */
  readonly cut: string
}

/**
 * To cut a page takes a server twice as long, so it is done only where it is necessary.
 * @param after two placeholders for the last id of the page before.
 */
export const selectListPage = (...after: [string, string]): ListStatements => ({
  uncut: `
    SELECT ${BOOK} FROM books WHERE id > ${after[0]} AND (
      SELECT SUM(size) FROM (
        SELECT ${TEXT_SIZE} AS size FROM books WHERE id > ${after[1]} ORDER BY id LIMIT ${UNCUT_BOOKS}
      ) sizes
    ) <= ${STREAM_PAGE.text} ORDER BY id LIMIT ${UNCUT_BOOKS}`,
  cut: selectPage({ where: `id > ${after[0]}`, fields: BY_ID }, { key: (name) => name }, STREAM_PAGE),
})
