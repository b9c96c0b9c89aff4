import { TEXT_FIELDS, type TextField } from '../../catalogue/book.ts'
import { SORT_KEY_VERSION, sortKey } from '../../catalogue/sort-key.ts'

/** The columns with the sort keys of the texts; empty in a row that another program wrote. */
export const KEY_COLUMNS: Readonly<Record<TextField, string>> = {
  title: `title_key_${SORT_KEY_VERSION}`,
  author: `author_key_${SORT_KEY_VERSION}`,
}

/** The name of what tells which books have no sort keys, or those of earlier texts. */
export const KEYS_DUE = `sort_keys_${SORT_KEY_VERSION}_due`

/** The sort keys of texts, in the order of TEXT_FIELDS; null for an absent text. */
export function keysOf(texts: Readonly<Partial<Record<TextField, string>>>): (string | null)[] {
  return TEXT_FIELDS.map((name) => {
    const text = texts[name]
    return text === undefined ? null : String(sortKey(name, text))
  })
}
