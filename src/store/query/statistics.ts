import { textOfKey } from '../../catalogue/sort-key.ts'
import type { Statistics } from '../../catalogue/store.ts'
import type { Condition, Dialect, Value } from './dialect.ts'

/** The most decades and authors that are listed. Those with the most books are kept. */
const MAX_DECADES = 200
const MAX_AUTHORS = 20

export type Select = (
  sql: string,
  values: readonly Value[],
) => Promise<readonly unknown[]> | readonly unknown[]

interface Group {
  /** A Buffer where MySQL compares texts as bytes. */
  readonly part: number | string | Buffer
  readonly total: number
}

/** Counts books by decade and author, in SQL that all engines share. @param from what follows FROM. */
export async function selectStatistics(
  select: Select,
  from: string,
  { where, values }: Condition,
  dialect: Dialect,
): Promise<Statistics> {
  // By place, because the table may have columns of the same names.
  const group = async (part: string, limit: number) =>
    (await select(
      `SELECT ${part} AS part, count(*) AS total FROM ${from} WHERE ${where}
       GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${limit}`,
      values,
    )) as readonly Group[]
  const year = dialect.key('year')
  // Some engines truncate the quotient of integers, others do not. So the dividend is a multiple of ten.
  const decades = await group(`(${year} - (${year} % 10 + 10) % 10) / 10`, MAX_DECADES)
  const authors = await group(dialect.key('author'), MAX_AUTHORS)
  return {
    decades: decades
      .map(({ part, total }) => ({ decade: Number(part) * 10, books: total }))
      .toSorted(byDecade),
    authors: authors.map(({ part, total }) => ({ author: textOfKey(String(part)), books: total })),
  }
}

const byDecade = (a: { decade: number }, b: { decade: number }) => a.decade - b.decade
