import type { Book, NewBook } from '../../catalogue/book.ts'
import { sortKey } from '../../catalogue/query.ts'
import type { Statistics } from '../../catalogue/store.ts'
import type { Condition, Dialect, Value } from './dialect.ts'

/** How many decades and authors are told: those with the most books. */
export const MAX_DECADES = 200
export const MAX_AUTHORS = 20

/** Runs a statement. */
export type Select = (
  sql: string,
  values: readonly Value[],
) => Promise<readonly unknown[]> | readonly unknown[]

interface Group {
  /** MySQL gives texts that it compares as bytes as such. */
  readonly part: number | string | Buffer
  readonly total: number
}

/** Counts by decade and author in SQL that all engines share. @param from the tables. */
export async function selectStatistics(
  select: Select,
  from: string,
  { where, values }: Condition,
  dialect: Dialect,
): Promise<Statistics> {
  const group = async (part: string, limit: number) =>
    (await select(
      `SELECT ${part} AS part, count(*) AS total FROM ${from} WHERE ${where}
       GROUP BY part ORDER BY total DESC, part LIMIT ${limit}`,
      values,
    )) as readonly Group[]
  const year = dialect.key('year')
  // Integers are divided towards zero on some engines, and exactly on others: so only what can be divided is.
  const decades = await group(`FLOOR((${year} - (${year} % 10 + 10) % 10) / 10)`, MAX_DECADES)
  const authors = await group(dialect.key('author'), MAX_AUTHORS)
  return {
    decades: decades
      .map(({ part, total }) => ({ decade: Number(part) * 10, books: total }))
      .toSorted(byDecade),
    authors: authors.map(({ part, total }) => ({ author: String(part), books: total })),
  }
}

/** The same of books that come one by one, where the server cannot find them itself. */
export async function collectStatistics(books: AsyncIterable<NewBook>): Promise<Statistics> {
  const decades = new Map<number, number>()
  const authors = new Map<string, number>()
  for await (const { year, author } of books) {
    add(decades, year - (((year % 10) + 10) % 10))
    add(authors, String(sortKey(author)))
  }
  return {
    decades: most(decades, MAX_DECADES, (a, b) => a - b)
      .map(([decade, books]) => ({ decade, books }))
      .toSorted(byDecade),
    authors: most(authors, MAX_AUTHORS, byCodePoint).map(([author, books]) => ({ author, books })),
  }
}

function add<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function most<Key>(
  counts: Map<Key, number>,
  limit: number,
  compare: (a: Key, b: Key) => number,
): [Key, number][] {
  return [...counts].toSorted(([a, m], [b, n]) => n - m || compare(a, b)).slice(0, limit)
}

/** UTF-8 is in the order of code points, which UTF-16 is not. */
const byCodePoint = (a: Book['author'], b: Book['author']) => Buffer.compare(Buffer.from(a), Buffer.from(b))

const byDecade = (a: { decade: number }, b: { decade: number }) => a.decade - b.decade
