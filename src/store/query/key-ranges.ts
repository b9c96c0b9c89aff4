import {
  type BookFilter,
  type BookQuery,
  BY_ID,
  type Position,
  type SortField,
} from '../../catalogue/query.ts'
import { type Dialect, keysOfTitle, type Value, WhereClause } from './dialect.ts'

/** Consecutive books of an order that one index can deliver. */
export interface KeyRange {
  readonly books: WhereClause
  readonly fields: readonly SortField[]
  /** Their rank in the order by relevance, otherwise 0. */
  readonly rank: number
}

/**
 * Divides the books of a query after a position into consecutive ranges of an index, so that a page costs the same
 * wherever it begins. Only books that are equal in the first field have to be sorted by the others.
 * @param keyAhead finds the key of the last book that is still wanted, if the range has so many books.
 */
export function keyRanges(
  { filter, order, searchedTitle }: BookQuery,
  after: Position | undefined,
  dialect: Dialect,
  keyAhead: KeyAhead,
): AsyncIterable<KeyRange> | Iterable<KeyRange> {
  if (order === 'relevance') return rangesByRelevance(filter, searchedTitle ?? '', after, dialect)
  const all: AllBooks = (isAbove = false, isBelow = false) => {
    const { yearMin, yearMax, ...others } = filter
    const [year] = after ?? []
    // A position of another filter may be outside of this one.
    const isInside = year === undefined || ((yearMin ?? year) <= year && year <= (yearMax ?? year))
    const isByYear = order[0]?.name === 'year' && isInside
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
 * Begins the condition for all books of a query.
 * @param isAbove whether the caller adds a lower limit on the first field. It then replaces that of the filter, because
 * SQLite uses only one limit of each side, and not always the closer one.
 * @param isBelow likewise for an upper limit.
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
    areWords && (() => (title ? all().hasWordsOfTitle(title, false) : all()).hasWords(words, true)),
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
  // An index of a field ends with the id, and delivers both only in the same direction.
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
    // Books may have been deleted since the key was looked up. Then books after it are wanted, too.
    reached = last
  }
}

function rangeOf(books: WhereClause, fields: readonly SortField[], rank = 0): KeyRange {
  return { books, fields, rank }
}
