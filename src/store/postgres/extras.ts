import { type NewBook, TEXT_FIELDS } from '../../catalogue/book.ts'
import { KEY_COLUMNS, keysOf } from '../client-server/sort-keys.ts'
import type { Schema } from './schema.ts'
import { WORDS, WORDS_OF, wordValues } from './search-index.ts'

/** What is stored with books beside their fields, as far as the database has columns for it: sort keys, and words. */
export class Extras {
  /** The columns, and for each list its name. */
  readonly columns: readonly string[]
  readonly names: readonly string[]
  readonly #schema: Schema

  constructor(schema: Schema) {
    const { hasKeys, hasWords } = schema
    this.#schema = schema
    this.columns = [
      ...(hasKeys ? TEXT_FIELDS.map((name) => KEY_COLUMNS[name]) : []),
      ...(hasWords ? [WORDS, WORDS_OF] : []),
    ]
    this.names = [...(hasKeys ? TEXT_FIELDS.map(keyName) : []), ...(hasWords ? ['words'] : [])]
  }

  /** The placeholders of the lists. @param first the number of the first one. */
  lists(first: number): string[] {
    return this.names.map((_, i) => `$${first + i}::text[]`)
  }

  /** The values of the columns for new books. @param table that has the lists. */
  values(table: string): string[] {
    const { hasKeys, hasWords } = this.#schema
    return [
      ...(hasKeys ? TEXT_FIELDS.map((name) => `${table}.${keyName(name)}`) : []),
      ...(hasWords ? wordValues(table) : []),
    ]
  }

  /** What the placeholders stand for. @param words of the books, as `wordsOf` makes them. */
  of(books: readonly Partial<NewBook>[], words: () => readonly (string | null)[]): (string | null)[][] {
    const { hasKeys, hasWords } = this.#schema
    const keys = hasKeys ? books.map(keysOf) : []
    return [
      ...(hasKeys ? TEXT_FIELDS.map((_, i) => keys.map((each) => each[i] ?? null)) : []),
      ...(hasWords ? [[...words()]] : []),
    ]
  }
}

/** The name of a list of sort keys. */
export const keyName = (name: (typeof TEXT_FIELDS)[number]) => `${name}_key`
