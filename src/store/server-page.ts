import { BY_ID, type SortField } from '../book-query.ts'
import { type Dialect, orderBy } from './query-sql.ts'
import type { PageBounds } from './store.ts'
import { PART } from './walk.ts'

/** The columns of a book. A table that was there before the service may have NULL in any of them but the id. */
export const BOOK =
  "id, COALESCE(title, '') AS title, COALESCE(author, '') AS author, COALESCE(year, 0) AS year"

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
        SELECT id, ${keys}, OCTET_LENGTH(COALESCE(title, '')) + OCTET_LENGTH(COALESCE(author, '')) AS size
        FROM books WHERE ${where} ORDER BY ${orderBy(fields, dialect)} LIMIT ${books}
      ) candidates
    ) sizes USING (id)
    WHERE COALESCE(sizes.text_before, 0) < ${text} ORDER BY ${orderIn('sizes')}`
}

/** The statement that reads a page of the list of all books. @param after the placeholder of an id. */
export const selectListPage = (after: string) =>
  selectPage({ where: `id > ${after}`, fields: BY_ID }, { key: (name) => name }, PART)
