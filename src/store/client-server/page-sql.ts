import { PART } from '../../catalogue/paginate.ts'
import { BY_ID, type SortField } from '../../catalogue/query.ts'
import type { PageBounds } from '../../catalogue/store.ts'
import { type Dialect, orderBy } from '../query/dialect.ts'

/** The columns of a book. A table that was there before the service may have NULL in any of them but the id. */
export const BOOK =
  "id, COALESCE(title, '') AS title, COALESCE(author, '') AS author, COALESCE(year, 0) AS year"

const SIZE = "OCTET_LENGTH(COALESCE(title, '')) + OCTET_LENGTH(COALESCE(author, ''))"

/** Books that follow one another in an order. */
interface Selection {
  readonly where: string
  readonly fields: readonly SortField[]
}

/**
 * The statement that reads the first books of a selection, in the SQL that all servers share. It reads the sizes
 * first, so that a page of long texts is never in memory whole; and it limits them before it adds them up, because
 * MariaDB would add up those of all books to the end of the table.
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
        SELECT id, ${keys}, ${SIZE} AS size
        FROM books WHERE ${where} ORDER BY ${orderBy(fields, dialect)} LIMIT ${books}
      ) candidates
    ) sizes USING (id)
    WHERE COALESCE(sizes.text_before, 0) < ${text} ORDER BY ${orderIn('sizes')}`
}

/** Books of a page of the list that is not cut: their texts may have 131 bytes in the mean. */
export const UNCUT_BOOKS = 500

/** The statements that read a page of the list of all books. */
export interface ListStatements {
  /** Reads the page, if its texts are not too long together; nothing otherwise. Its values are the id before, twice. */
  readonly uncut: string
  /** Reads the page, cut where its texts become too long. Its value is the id before. */
  readonly cut: string
}

/**
 * To cut a page takes a server twice the time, so this is only asked for where it has to be.
 * @param after two placeholders of the id before.
 */
export const selectListPage = (...after: [string, string]): ListStatements => ({
  uncut: `
    SELECT ${BOOK} FROM books WHERE id > ${after[0]} AND (
      SELECT SUM(size) FROM (
        SELECT ${SIZE} AS size FROM books WHERE id > ${after[1]} ORDER BY id LIMIT ${UNCUT_BOOKS}
      ) sizes
    ) <= ${PART.text} ORDER BY id LIMIT ${UNCUT_BOOKS}`,
  cut: selectPage({ where: `id > ${after[0]}`, fields: BY_ID }, { key: (name) => name }, PART),
})
