import {
  type BookFilter,
  type BookQuery,
  BY_ID,
  type Position,
  type SortField,
} from '../../catalogue/query.ts'
import { type Dialect, keysOfTitle, type Value, WhereClause } from './dialect.ts'

/** Consecutive books of an order, which one index can deliver. */
export interface KeyRange {
  readonly books: WhereClause
  /** The fields that decide on their order. */
  readonly fields: readonly SortField[]
  /** By relevance: their rank. */
  readonly rank: number
}

/**
 * The books of a query after a position, as consecutive ranges. Each is a range of an index, so that a page costs the
 * same wherever it begins. Only books that are equal in two fields have to be sorted by a third.
 * @param keyAhead finds the key at which the range has as many books as are still wanted, if it has so many.
 */
export function keyRanges(
  { filter, order, searchedTitle }: BookQuery,
  after: Position | undefined,
  dialect: Dialect,
  keyAhead: KeyAhead,
): AsyncIterable<KeyRange> | Iterable<KeyRange> {
  if (order === 'relevance') return rangesByRelevance(filter, searchedTitle ?? '', after, dialect)
  const all: AllBooks = (isAbove = false, isBelow = false) => {
    const isByYear = order[0]?.name === 'year'
    const { yearMin, yearMax, ...others } = filter
    const clause = new WhereClause(dialect, {
      ...others,
      ...(yearMin !== undefined && !(isByYear && isAbove) && { yearMin }),
      ...(yearMax !== undefined && !(isByYear && isBelow) && { yearMax }),
    })
    return filter.words === undefined ? clause : clause.hasWords(filter.words, false)
  }
  return rangesByFields(all, order, after, dialect, keyAhead)
}

/**
 * Begins the condition of all books of a query.
 * @param isAbove whether the first field is also compared with a key that is at least the lowest one.
 * @param isBelow whether it is compared with one that is at most the highest. SQLite uses only one limit of a side, and
 * not always the closer one.
 */
type AllBooks = (isAbove?: boolean, isBelow?: boolean) => WhereClause

type KeyAhead = (books: WhereClause, field: SortField) => Promise<Value | undefined>

function* rangesByRelevance(
  filter: BookFilter,
  title: string,
  after: Position | undefined,
  dialect: Dialect,
): Generator<KeyRange, void> {
  const words = filter.words ?? []
  const all = () => new WhereClause(dialect, filter)
  const areWords = dialect.lookUp?.areWords(words) !== false
  const areInTitle = areWords && title !== ''
  const isTitle = areInTitle && dialect.lookUp?.isTitle(...keysOfTitle(title)) !== false
  const inTitle = () => all().hasWordsOfTitle(title).hasWords(words, true)
  const beginnings = () => all().hasWords(words, false)
  const byRank = [
    isTitle && (() => all().hasTitle(title, words)),
    areInTitle && (() => (isTitle ? inTitle().lacksTitle(title) : inTitle())),
    areWords && (() => (title ? all().lacksWordsOfTitle(title) : all()).hasWords(words, true)),
    () => (areWords ? beginnings().lacksWords(words) : beginnings()),
  ]
  const [first = 0, id = 0] = after ?? []
  for (const [rank, books] of byRank.entries())
    if (books && rank >= Number(first))
      yield rangeOf(books().compare('id', '>', rank === first ? id : 0), BY_ID, rank)
}

async function* rangesByFields(
  all: AllBooks,
  order: readonly SortField[],
  after: Position | undefined,
  dialect: Dialect,
  keyAhead: KeyAhead,
): AsyncGenerator<KeyRange, void> {
  const [first, ...rest] = order
  if (first === undefined) throw new Error('an order has no field')
  if (rest.length === 0) {
    yield rangeOf(after === undefined ? all() : all().after(order, after), order)
    return
  }
  const [key, ...keys] = after ?? []
  const equalTo = (key: Value) => () => all(true, true).compare(first.name, '=', key)
  if (key !== undefined) yield* rangesByFields(equalTo(key), rest, keys, dialect, keyAhead)
  // An index that ends with the id delivers both fields in the same direction only.
  const isOneRange = rest.length === 1 && rest[0]?.descending === first.descending
  for (let reached = key; ; ) {
    const isReached = reached !== undefined
    const following = (isLimited = false) => {
      const books = first.descending ? all(isLimited, isReached) : all(isReached, isLimited)
      return reached === undefined ? books : books.compare(first.name, first.descending ? '<' : '>', reached)
    }
    const last = isOneRange ? undefined : await keyAhead(following(), first)
    if (last === undefined) {
      yield rangeOf(following(), order)
      return
    }
    yield rangeOf(following(true).compare(first.name, first.descending ? '>' : '<', last), order)
    yield* rangesByFields(equalTo(last), rest, undefined, dialect, keyAhead)
    // Other clients may have deleted books since the key was looked up, so that more books are wanted behind it.
    reached = last
  }
}

function rangeOf(books: WhereClause, fields: readonly SortField[], rank = 0): KeyRange {
  return { books, fields, rank }
}
