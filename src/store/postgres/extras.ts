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

/** What is stored along with fields of books, if the database has the columns: sort keys and words, passed as lists. */
export class Extras {
  /** The fields whose sort keys are stored. */
  readonly keyedFields: readonly IndexedField[]
  readonly hasWords: boolean
  readonly columns: readonly string[]
  /** The name of each list. The words fill two columns from one list. */
  readonly names: readonly string[]

  constructor({ hasKeys, hasWords }: Schema, fields: readonly FieldName[] = FIELD_NAMES) {
    const texts = fields.filter(isIndexedField)
    this.keyedFields = hasKeys ? texts : []
    this.hasWords = hasWords && texts.length > 0
    this.columns = [
      ...this.keyedFields.map((name) => KEY_COLUMNS[name]),
      ...(this.hasWords ? [WORDS, WORDS_OF] : []),
    ]
    this.names = [...this.keyedFields.map(keyName), ...(this.hasWords ? ['words'] : [])]
  }

  /** The placeholders of the lists. @param first the number of the first one. */
  readonly lists = (first: number): string[] => this.names.map((_, i) => `$${first + i}::text[]`)

  /** The SQL of each column for new books. @param table the name of the table that has the lists. */
  values(table: string): string[] {
    return [
      ...this.keyedFields.map((name) => `${table}.${keyName(name)}`),
      ...(this.hasWords ? wordValues(table) : []),
    ]
  }

  /** The lists for the placeholders. @param words returns the words of each book, as `wordsOf` makes them. */
  of(books: readonly BookChanges[], words: () => readonly (string | null)[]): (string | null)[][] {
    const keys = books.map((book) => keysOf(book, this.keyedFields))
    return [
      ...this.keyedFields.map((_, i) => keys.map((each) => each[i] ?? null)),
      ...(this.hasWords ? [[...words()]] : []),
    ]
  }
}

export const keyName = (name: IndexedField) => `${name}_key`
