import {
  type BookFilter,
  type BookQuery,
  BY_ID,
  type Position,
  type SortField,
} from '../../catalogue/query.ts'
import { type Condition, type Dialect, type Value, WhereClause } from './dialect.ts'

/** Consecutive books of an order, which one index can deliver. */
export interface KeyRange extends Condition {
  /** The fields that decide on their order. */
  readonly fields: readonly SortField[]
  /** By relevance: whether they have every word as a whole word. */
  readonly exact: boolean
}

/**
 * The books of a query after a position, as consecutive ranges. Each is a range of an index, so that a page costs the
 * same wherever it begins. Only books that are equal in two fields have to be sorted by a third.
 * @param keyAhead finds the key at which the range has as many books as are still wanted, if it has so many.
 */
export function keyRanges(
  { filter, order }: BookQuery,
  after: Position | undefined,
  dialect: Dialect,
  keyAhead: KeyAhead,
): AsyncIterable<KeyRange> | Iterable<KeyRange> {
  if (order === 'relevance') return rangesByRelevance(filter, after, dialect)
  const all = () => {
    const clause = new WhereClause(dialect, filter)
    return filter.words === undefined ? clause : clause.hasWords(filter.words, false)
  }
  return rangesByFields(all, order, after, dialect, keyAhead)
}

type KeyAhead = (condition: Condition, field: SortField) => Promise<Value | undefined>

function* rangesByRelevance(
  filter: BookFilter,
  after: Position | undefined,
  dialect: Dialect,
): Generator<KeyRange, void> {
  const all = () => new WhereClause(dialect, filter)
  const words = filter.words ?? []
  const [rank = 0, id = 0] = after ?? []
  if (rank === 0) yield rangeOf(all().hasWords(words, true).compare('id', '>', id), BY_ID, true)
  const others = all().hasWords(words, false).lacksWords(words)
  yield rangeOf(others.compare('id', '>', rank === 0 ? 0 : id), BY_ID)
}

/** @param all the condition that all of the books have. */
async function* rangesByFields(
  all: () => WhereClause,
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
  const equalTo = (key: Value) => () => all().compare(first.name, '=', key)
  if (key !== undefined) yield* rangesByFields(equalTo(key), rest, keys, dialect, keyAhead)
  // An index that ends with the id delivers both fields in the same direction only.
  const isOneRange = rest.length === 1 && rest[0]?.descending === first.descending
  for (let reached = key; ; ) {
    const following = () =>
      reached === undefined ? all() : all().compare(first.name, first.descending ? '<' : '>', reached)
    const last = isOneRange ? undefined : await keyAhead(following(), first)
    if (last === undefined) {
      yield rangeOf(following(), order)
      return
    }
    yield rangeOf(following().compare(first.name, first.descending ? '>' : '<', last), order)
    yield* rangesByFields(equalTo(last), rest, undefined, dialect, keyAhead)
    // Other clients may have deleted books since the key was looked up, so that more books are wanted behind it.
    reached = last
  }
}

function rangeOf({ where, values }: Condition, fields: readonly SortField[], exact = false): KeyRange {
  return { where, values, fields, exact }
}
