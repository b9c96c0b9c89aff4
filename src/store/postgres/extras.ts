import {
  type BookChanges,
  FIELD_NAMES,
  type FieldName,
  type IndexedField,
  isIndexedField,
} from '../../catalogue/book.ts'
import { KEY_COLUMNS, keysOf } from '../client-server/sort-keys.ts'
import type { Schema } from './schema.ts'
import { WORDS, WORDS_OF, wordValues } from './search-index.ts'

/**
 * What is stored with fields of books, as far as the database has columns for it: sort keys, and words. The statements
 * get it as lists.
 */
export class Extras {
  /** The texts whose sort keys are stored. */
  readonly keyed: readonly IndexedField[]
  readonly hasWords: boolean
  /** The columns, and for each list its name. */
  readonly columns: readonly string[]
  readonly names: readonly string[]

  constructor({ hasKeys, hasWords }: Schema, fields: readonly FieldName[] = FIELD_NAMES) {
    const texts = fields.filter(isIndexedField)
    this.keyed = hasKeys ? texts : []
    this.hasWords = hasWords && texts.length > 0
    this.columns = [
      ...this.keyed.map((name) => KEY_COLUMNS[name]),
      ...(this.hasWords ? [WORDS, WORDS_OF] : []),
    ]
    this.names = [...this.keyed.map(keyName), ...(this.hasWords ? ['words'] : [])]
  }

  /** The placeholders of the lists. @param first the number of the first one. */
  readonly lists = (first: number): string[] => this.names.map((_, i) => `$${first + i}::text[]`)

  /** The values of the columns for new books. @param table that has the lists. */
  values(table: string): string[] {
    return [
      ...this.keyed.map((name) => `${table}.${keyName(name)}`),
      ...(this.hasWords ? wordValues(table) : []),
    ]
  }

  /** What the placeholders stand for. @param words of the books, as `wordsOf` makes them. */
  of(books: readonly BookChanges[], words: () => readonly (string | null)[]): (string | null)[][] {
    const keys = books.map((book) => keysOf(book, this.keyed))
    return [
      ...this.keyed.map((_, i) => keys.map((each) => each[i] ?? null)),
      ...(this.hasWords ? [[...words()]] : []),
    ]
  }
}

/** The name of a list of sort keys. */
export const keyName = (name: IndexedField) => `${name}_key`
