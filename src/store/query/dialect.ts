import type { TextField } from '../../catalogue/book.ts'
import {
  type BookFilter,
  type Position,
  type SortField,
  type SortName,
  sortKey,
} from '../../catalogue/query.ts'

export type Value = string | number

/** The parts of a query in SQL that differ between the engines. */
export interface Dialect {
  /** The placeholder of a value that is compared with the field. @param number its place in the statement, from 1. */
  placeholder(name: SortName, number: number): string
  /** The sort key of a field, as it is indexed: a number, or the beginning of a text, which compares by code point. */
  key(name: SortName): string
  /** Whether the text equals the value, byte by byte. */
  equals(name: TextField, placeholder: string): string
  /** Whether the book has all words. @param exact as whole words; else as prefixes of words. */
  hasWords(words: readonly string[], exact: boolean, bind: (value: string) => string): string
  /** Whether the book lacks at least one of the words as a whole word. */
  lacksWords(words: readonly string[], bind: (value: string) => string): string
}

/** A condition in SQL, and the values of its placeholders in their order. */
export interface Condition {
  readonly where: string
  readonly values: readonly Value[]
}

/** The condition of a filter. */
export function conditionOf(filter: BookFilter, dialect: Dialect): Condition {
  const clause = new WhereClause(dialect, filter)
  if (filter.words !== undefined) clause.hasWords(filter.words, false)
  return clause
}

export function orderBy(fields: readonly SortField[], dialect: Pick<Dialect, 'key'>): string {
  return fields.map(({ name, descending }) => `${dialect.key(name)}${descending ? ' DESC' : ''}`).join(', ')
}

/** A condition that is made part by part. */
export class WhereClause implements Condition {
  readonly values: Value[] = []
  readonly #all: string[] = []
  readonly #dialect: Dialect

  constructor(dialect: Dialect, { title, author, year, yearMin, yearMax }: BookFilter) {
    this.#dialect = dialect
    if (title !== undefined) this.#equals('title', title)
    if (author !== undefined) this.#equals('author', author)
    if (year !== undefined) this.compare('year', '=', year)
    if (yearMin !== undefined) this.compare('year', '>=', yearMin)
    if (yearMax !== undefined) this.compare('year', '<=', yearMax)
  }

  get where(): string {
    return this.#all.length === 0 ? '1 = 1' : this.#all.join(' AND ')
  }

  compare(name: SortName, operator: '=' | '<' | '>' | '<=' | '>=', key: Value): this {
    this.#all.push(this.#comparison(name, operator, key))
    return this
  }

  hasWords(words: readonly string[], exact: boolean): this {
    this.#all.push(this.#dialect.hasWords(words, exact, this.#bindText))
    return this
  }

  lacksWords(words: readonly string[]): this {
    this.#all.push(this.#dialect.lacksWords(words, this.#bindText))
    return this
  }

  /** Selects the books after a position. A later field decides if all fields before it are equal. */
  after(fields: readonly SortField[], position: Position): this {
    const alternatives = fields.map(({ name, descending }, i) => {
      const equal = fields.slice(0, i).map((field, j) => this.#comparison(field.name, '=', position[j]))
      return [...equal, this.#comparison(name, descending ? '<' : '>', position[i])].join(' AND ')
    })
    this.#all.push(`(${alternatives.join(' OR ')})`)
    return this
  }

  #equals(name: TextField, text: string): void {
    this.compare(name, '=', sortKey(text))
    this.#all.push(this.#dialect.equals(name, this.#bind(name, text)))
  }

  #comparison(name: SortName, operator: string, key: Value | undefined): string {
    if (key === undefined) throw new Error('a position has fewer values than the order has fields')
    return `${this.#dialect.key(name)} ${operator} ${this.#bind(name, key)}`
  }

  readonly #bindText = (text: string) => this.#bind('title', text)

  #bind(name: SortName, value: Value): string {
    this.values.push(value)
    return this.#dialect.placeholder(name, this.values.length)
  }
}
