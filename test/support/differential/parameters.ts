import fc from 'fast-check'
import type { Book } from '../../../src/catalogue/book.ts'
import type { SortName } from '../../../src/catalogue/query.ts'
import { sortKey } from '../../../src/catalogue/sort-key.ts'
import { NUMBERS, TEXTS } from './values.ts'

/** What is asked of the list. */
export interface ListQuery {
  /** Names and values, as they are before they are encoded. */
  readonly parameters: readonly (readonly [name: string, value: string])[]
  /** Whether the first cursor is changed before it is used. */
  readonly tampered: boolean
}

const SORTS = ['id', '-id', 'title', '-title', 'author', '-author', 'year', '-year']
const BAD_SORTS = ['', 'isbn', 'title,title', '-', ' title', 'title;id']

const text = fc.constantFrom(...TEXTS)
const words = fc.oneof(
  text,
  fc.tuple(text, text).map((texts) => texts.join(' ')),
  fc.constantFrom('x', 'a', 'i s', 'é ß', '0', "x' 1"),
)
const number = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('0', '1', '-44', '1965', '2147483648', '9007199254740991') },
  { weight: 1, arbitrary: fc.constantFrom(...NUMBERS) },
)
const sort = fc.oneof(
  { weight: 8, arbitrary: fc.subarray(SORTS, { minLength: 1, maxLength: 3 }).map((names) => names.join()) },
  { weight: 1, arbitrary: fc.constantFrom(...BAD_SORTS) },
)
const limit = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 12 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('1000', '1001', '0', '-1', '1.0', '') },
)

const parameter = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('limit'), limit) },
  { weight: 6, arbitrary: fc.tuple(fc.constant('sort'), sort) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('q'), words) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('title', 'author'), text) },
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom('year', 'year_min', 'year_max'), number) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('count'), fc.constantFrom('true', 'true', 'false', '1')) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom('after', 'Limit', 'id', '', '__proto__'), text) },
)

export const listQuery: fc.Arbitrary<ListQuery> = fc.record({
  parameters: fc.oneof(
    {
      weight: 12,
      arbitrary: fc.uniqueArray(parameter, { selector: ([name]) => name, minLength: 1, maxLength: 4 }),
    },
    { weight: 1, arbitrary: fc.array(parameter, { minLength: 1, maxLength: 6 }) },
  ),
  tampered: fc.nat(9).map((number) => number === 0),
})

export function pathOf({ parameters }: ListQuery): string {
  const pairs = parameters.map(([name, value]) => `${name}=${encode(value)}`)
  return `/books?${pairs.join('&')}`
}

/** Also what is not text: half an emoji is sent as UTF-8 would write it. */
const encode = (value: string) => encodeURIComponent(value.replaceAll(/\p{Cs}/gu, '\uFFFD'))

/** The value of a parameter. */
export const parameterOf = ({ parameters }: ListQuery, name: string) =>
  parameters.find(([each]) => each === name)?.[1]

/** What decides on the place of a book in the order that is asked for, before its id does. */
export function placeOf(query: ListQuery, book: Book): (string | number)[] {
  const names = parameterOf(query, 'sort')?.replaceAll('-', '').split(',') ?? []
  const beforeId = names.includes('id') ? names.slice(0, names.indexOf('id')) : names
  return beforeId.map((name) => sortKey(name as SortName, book[name as SortName]))
}

/** The path of the next page, as a `Link` header has it. */
export function nextOf(link: string | string[] | undefined): string | undefined {
  const [, reference] = /^<([^>]*)>; rel="next"$/.exec(String(link ?? '')) ?? []
  return reference && `/${reference}`
}

/** The path with another cursor than the one in it. */
export const tamper = (path: string) =>
  path.replace(/([?&]after=)(.)/, (_, name, first) => name + (first === 'A' ? 'B' : 'A'))
