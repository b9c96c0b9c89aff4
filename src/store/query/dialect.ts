import type { Book } from '../../catalogue/book.ts'
import {
  type BookFilter,
  type BookQuery,
  BY_ID,
  type Position,
  type SortField,
  sortKey,
} from '../../catalogue/query.ts'

export type Value = string | number

/** What differs between the engines in the SQL of a query. */
export interface Dialect {
  /** What stands for the value that is the `number`th of its statement, from 1, and is compared with the field. */
  placeholder(name: keyof Book, number: number): string
  /** The field as an index has it: a number, or a text cut to its sort key, which compares by code point. */
  key(name: keyof Book): string
  /** That the whole text equals the value, to the byte. */
  equals(name: 'title' | 'author', placeholder: string): string
  /** That the book has all words, each as a whole word or else as the beginning of one. */
  hasWords(words: readonly string[], whole: boolean, bind: (value: string) => string): string
  /** That it has not all of them as whole words. */
  lacksWords(words: readonly string[], bind: (value: string) => string): string
}

/** A condition of a statement, in SQL, and the values of its placeholders in their order. */
export interface Condition {
  readonly where: string
  readonly values: readonly Value[]
}

/** Books that follow one another in an order, as an index can give them. */
export interface Run extends Condition {
  /** What decides on their order. */
  readonly fields: readonly SortField[]
  /** By relevance: whether they have every word as a whole one. */
  readonly whole: boolean
}

/** The condition of a filter alone. */
export function conditionOf(filter: BookFilter, dialect: Dialect): Condition {
  const conditions = new Conditions(dialect, filter)
  if (filter.words !== undefined) conditions.hasWords(filter.words, false)
  return conditions
}

/**
 * The books of a query after a position, as runs that follow one another. Each is a range of an index, so that a page
 * costs the same wherever it begins; except that books which are equal in two fields are sorted by a third.
 * @param keyAhead finds the key that the run reaches with as many books as are still wanted, if it has so many.
 */
export function runs(
  { filter, order }: BookQuery,
  after: Position | undefined,
  dialect: Dialect,
  keyAhead: KeyAhead,
): AsyncIterable<Run> | Iterable<Run> {
  if (order === 'relevance') return runsByRelevance(filter, after, dialect)
  const all = () => {
    const conditions = new Conditions(dialect, filter)
    return filter.words === undefined ? conditions : conditions.hasWords(filter.words, false)
  }
  return runsByFields(all, order, after, dialect, keyAhead)
}

type KeyAhead = (condition: Condition, field: SortField) => Promise<Value | undefined>

function* runsByRelevance(
  filter: BookFilter,
  after: Position | undefined,
  dialect: Dialect,
): Generator<Run, void> {
  const all = () => new Conditions(dialect, filter)
  const words = filter.words ?? []
  const [rank = 0, id = 0] = after ?? []
  if (rank === 0) yield runOf(all().hasWords(words, true).compare('id', '>', id), BY_ID, true)
  const others = all().hasWords(words, false).lacksWords(words)
  yield runOf(others.compare('id', '>', rank === 0 ? 0 : id), BY_ID)
}

/** @param all the condition of all books among which they are. */
async function* runsByFields(
  all: () => Conditions,
  order: readonly SortField[],
  after: Position | undefined,
  dialect: Dialect,
  keyAhead: KeyAhead,
): AsyncGenerator<Run, void> {
  const [first, ...rest] = order
  if (first === undefined) throw new Error('an order has no field')
  if (rest.length === 0) {
    yield runOf(after === undefined ? all() : all().after(order, after), order)
    return
  }
  const [key, ...keys] = after ?? []
  const equalTo = (key: Value) => () => all().compare(first.name, '=', key)
  if (key !== undefined) yield* runsByFields(equalTo(key), rest, keys, dialect, keyAhead)
  // An index that ends in the id gives both in the same direction only.
  const isOneRange = rest.length === 1 && rest[0]?.descending === first.descending
  for (let reached = key; ; ) {
    const following = () =>
      reached === undefined ? all() : all().compare(first.name, first.descending ? '<' : '>', reached)
    const last = isOneRange ? undefined : await keyAhead(following(), first)
    if (last === undefined) {
      yield runOf(following(), order)
      return
    }
    yield runOf(following().compare(first.name, first.descending ? '>' : '<', last), order)
    yield* runsByFields(equalTo(last), rest, undefined, dialect, keyAhead)
    // The runs up to here lack what others have deleted since the key was looked up: more books may follow it.
    reached = last
  }
}

function runOf({ where, values }: Condition, fields: readonly SortField[], whole = false): Run {
  return { where, values, fields, whole }
}

export function orderBy(fields: readonly SortField[], dialect: Pick<Dialect, 'key'>): string {
  return fields.map(({ name, descending }) => `${dialect.key(name)}${descending ? ' DESC' : ''}`).join(', ')
}

/** Collects the values of a statement while its conditions are written. */
class Conditions implements Condition {
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

  compare(name: keyof Book, operator: '=' | '<' | '>' | '<=' | '>=', key: Value): this {
    this.#all.push(this.#comparison(name, operator, key))
    return this
  }

  hasWords(words: readonly string[], whole: boolean): this {
    this.#all.push(this.#dialect.hasWords(words, whole, this.#bindText))
    return this
  }

  lacksWords(words: readonly string[]): this {
    this.#all.push(this.#dialect.lacksWords(words, this.#bindText))
    return this
  }

  /** That a book comes after a position: a later field decides where all before it are equal. */
  after(fields: readonly SortField[], position: Position): this {
    const alternatives = fields.map(({ name, descending }, i) => {
      const equal = fields.slice(0, i).map((field, j) => this.#comparison(field.name, '=', position[j]))
      return [...equal, this.#comparison(name, descending ? '<' : '>', position[i])].join(' AND ')
    })
    this.#all.push(`(${alternatives.join(' OR ')})`)
    return this
  }

  #equals(name: 'title' | 'author', text: string): void {
    this.compare(name, '=', sortKey(text))
    this.#all.push(this.#dialect.equals(name, this.#bind(name, text)))
  }

  #comparison(name: keyof Book, operator: string, key: Value | undefined): string {
    if (key === undefined) throw new Error('a position has fewer values than the order has fields')
    return `${this.#dialect.key(name)} ${operator} ${this.#bind(name, key)}`
  }

  readonly #bindText = (text: string) => this.#bind('title', text)

  #bind(name: keyof Book, value: Value): string {
    this.values.push(value)
    return this.#dialect.placeholder(name, this.values.length)
  }
}
