import { INDEXED_FIELDS, type IndexedField } from '../../catalogue/book.ts'
import { SORT_KEY_VERSION, sortKey } from '../../catalogue/sort-key.ts'

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
