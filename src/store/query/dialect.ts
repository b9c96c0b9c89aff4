import { FIELD_NAMES, type IndexedField } from '../../catalogue/book.ts'
import type { BookFilter, Position, SortField, SortName } from '../../catalogue/query.ts'
import { isFoundInside } from '../../catalogue/search-words.js'
import { SEPARATOR } from '../../catalogue/sort-key.ts'

export type Value = string | number

const AFTER_SEPARATOR = '\u0002'

/** The parts of SQL queries that differ between the engines. */
export interface Dialect {
  /** The placeholder of a value that is compared with this field. @param number its place in the statement, from 1. */
  placeholder(name: SortName, number: number): string
  /** The indexed sort key of a field: a number, or a text that compares by code point. */
  key(name: SortName): string
  /** The sort key to look up books with this text; undefined if comparing the texts is enough. */
  keyOf(name: IndexedField, text: string): string | undefined
  /** Whether the text equals the value, byte by byte. */
  equals(name: IndexedField, placeholder: string): string
  /** Whether the book has all words. @param exact as whole words; otherwise as beginnings of words. */
  hasWords(words: readonly string[], exact: boolean, bind: (value: string) => string): string
  /** Whether the book lacks at least one of the words as a whole word. */
  lacksWords(words: readonly string[], bind: (value: string) => string): string
  /**
   * Whether the sort key of the title is at least `from` and less than `to`, and the book has all words as whole words.
   * For an engine that would otherwise look up the words first, although few books have the title.
   */
  hasTitle?(from: string, to: string, words: readonly string[], bind: (value: string) => string): string
  /** For an engine that can tell quickly that no book matches, so that the query need not run. */
  readonly lookUp?: LookUp
  /** Whether the words in the sort key of the title, with a space added before and after, contain the text. */
  hasInTitle(text: string, bind: (value: string) => string): string
}

export interface LookUp {
  /** Whether any book has a title whose sort key is at least `from` and less than `to`. */
  isTitle(from: string, to: string): boolean
  /** Whether any book has all of these as whole words. */
  areWords(words: readonly string[]): boolean
}

/** A condition in SQL, and the values of its placeholders in order. */
export interface Condition {
  readonly where: string
  readonly values: readonly Value[]
}

export function conditionOf(filter: BookFilter, dialect: Dialect): Condition {
  const clause = new WhereClause(dialect, filter)
  if (filter.words !== undefined) clause.hasWords(filter.words, false)
  return clause
}

/** The SET list of an UPDATE. Without changes, it sets a column to itself, because SQL has no empty list. */
export function assignments(changes: readonly (readonly [column: string, value: string])[]): string {
  const [some = ''] = FIELD_NAMES
  if (changes.length === 0) return `${some} = ${some}`
  return changes.map(([column, value]) => `${column} = ${value}`).join(', ')
}

export function orderBy(fields: readonly SortField[], dialect: Pick<Dialect, 'key'>): string {
  return fields.map(({ name, descending }) => `${dialect.key(name)}${descending ? ' DESC' : ''}`).join(', ')
}

/** The bounds of the sort keys of a title (as `wordsOfKey` makes it): the first inclusive, the second exclusive. */
export const keysOfTitle = (title: string) => [title + SEPARATOR, title + AFTER_SEPARATOR] as const

/** A part of a condition, and the sort field that it compares first, if any. */
interface Part extends Condition {
  readonly name: SortName | undefined
}

const allOf = (parts: readonly Part[]): Condition => ({
  where: parts.length === 0 ? '1 = 1' : parts.map(({ where }) => where).join(' AND '),
  values: parts.flatMap(({ values }) => values),
})

/** Builds a condition from parts, all of which must hold. */
export class WhereClause implements Condition {
  readonly #parts: Part[] = []
  readonly #dialect: Dialect
  #values: Value[] = []
  #bound = 0

  constructor(dialect: Dialect, { title, author, year, yearMin, yearMax }: BookFilter) {
    this.#dialect = dialect
    if (title !== undefined) this.#equals('title', title)
    if (author !== undefined) this.#equals('author', author)
    if (year !== undefined) this.compare('year', '=', year)
    if (yearMin !== undefined) this.compare('year', '>=', yearMin)
    if (yearMax !== undefined) this.compare('year', '<=', yearMax)
  }

  get where(): string {
    return allOf(this.#parts).where
  }

  get values(): readonly Value[] {
    return allOf(this.#parts).values
  }

  /** The parts that do not compare this field first. Only for placeholders without numbers. */
  without(name: SortName): Condition {
    return allOf(this.#parts.filter((part) => part.name !== name))
  }

  compare(name: SortName, operator: '=' | '<' | '>' | '<=' | '>=', key: Value): this {
    return this.#add(this.#comparison(name, operator, key), name)
  }

  hasWords(words: readonly string[], exact: boolean): this {
    return this.#add(this.#dialect.hasWords(words, exact, this.#bindText))
  }

  lacksWords(words: readonly string[]): this {
    return this.#add(this.#dialect.lacksWords(words, this.#bindText))
  }

  /** Selects books with exactly this title, as `wordsOfKey` makes it, that have all words as whole words. */
  hasTitle(title: string, words: readonly string[]): this {
    const [from, to] = keysOfTitle(title)
    const condition = this.#dialect.hasTitle?.(from, to, words, this.#bindText)
    if (condition === undefined)
      return this.compare('title', '>=', from).compare('title', '<', to).hasWords(words, true)
    return this.#add(condition)
  }

  lacksTitle(title: string): this {
    const [from, to] = keysOfTitle(title)
    const isFrom = this.#comparison('title', '>=', from)
    return this.#add(`NOT (${isFrom} AND ${this.#comparison('title', '<', to)})`)
  }

  /** Selects books whose title has all words of this one, or does not. */
  hasWordsOfTitle(title: string, has = true): this {
    const texts = Array.from(new Set(title.split(' ')), (word) => (isFoundInside(word) ? word : ` ${word} `))
    const condition = texts.map((text) => this.#dialect.hasInTitle(text, this.#bindText)).join(' AND ')
    return this.#add(has ? condition : `NOT (${condition})`)
  }

  /** Selects books after a position. A later field decides if all fields before it are equal. */
  after(fields: readonly SortField[], position: Position): this {
    const alternatives = fields.map(({ name, descending }, i) => {
      const equal = fields.slice(0, i).map((field, j) => this.#comparison(field.name, '=', position[j]))
      return [...equal, this.#comparison(name, descending ? '<' : '>', position[i])].join(' AND ')
    })
    return this.#add(`(${alternatives.join(' OR ')})`, fields[0]?.name)
  }

  #equals(name: IndexedField, text: string): void {
    const key = this.#dialect.keyOf(name, text)
    if (key !== undefined) this.compare(name, '=', key)
    this.#add(this.#dialect.equals(name, this.#bind(name, text)), name)
  }

  #comparison(name: SortName, operator: string, key: Value | undefined): string {
    if (key === undefined) throw new Error('a position has fewer values than the order has fields')
    return `${this.#dialect.key(name)} ${operator} ${this.#bind(name, key)}`
  }

  /** Adds a part with the values bound since the part before. */
  #add(where: string, name?: SortName): this {
    this.#parts.push({ where, values: this.#values, name })
    this.#values = []
    return this
  }

  readonly #bindText = (text: string) => this.#bind('title', text)

  #bind(name: SortName, value: Value): string {
    this.#values.push(value)
    return this.#dialect.placeholder(name, ++this.#bound)
  }
}
