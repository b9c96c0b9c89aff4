import fc from 'fast-check'
import {
  type Fragment,
  knownNumber,
  knownText,
  numberFragment,
  oddBody,
  oddId,
  refusedFragment,
  textFragment,
} from './values.ts'

export type Body = string | Buffer

/** A header field, and whose entity tag it has: that of the book now, as it was created, or of another one. */
export interface Condition {
  readonly field: 'if-match' | 'if-none-match'
  readonly tag: 'now' | 'created' | 'other'
}

/** A request of one book, of those by number that were created, modulo their number; or of what is no book. */
export interface OfBook {
  readonly kind: 'book'
  readonly method: string
  readonly target: number | string
  readonly body?: Body
  readonly condition?: Condition | undefined
}

export type Request =
  | { readonly kind: 'create'; readonly body: Body }
  | OfBook
  | { readonly kind: 'path'; readonly method: string; readonly path: string }
  /** A list, from page to page, with the first cursor changed or not. */
  | { readonly kind: 'query'; readonly path: string; readonly isTampered: boolean }

type Fields = Readonly<Record<string, Fragment>>

const unknownFields = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Fields>({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Fields>(
      { id: '77' },
      { id: '"x"', isbn: 'null' },
      { ID: '1', '': '{}' },
      { 'title\\u0000': '1' },
    ),
  },
)

/** Fields as the text of an object; the unknown ones come first or last. */
const bodyOf = (known: fc.Arbitrary<Fields>) =>
  fc.tuple(known, unknownFields, fc.boolean()).map(([fields, others, first]) => {
    const all = first ? { ...others, ...fields } : { ...fields, ...others }
    const parts = Object.entries(all).map(([name, fragment]) => `"${name}":${fragment}`)
    return `{${parts.join(',')}}`
  })

const fields = { title: textFragment, author: textFragment, year: numberFragment }
const anything = fc.oneof(textFragment, numberFragment, refusedFragment)
const newBook = bodyOf(fc.record(fields))
const changes = bodyOf(fc.record(fields, { requiredKeys: [] }))
const maybeRefused = bodyOf(
  fc.record({ title: anything, author: anything, year: anything }, { requiredKeys: [] }),
)
const createBody = fc.oneof<fc.WeightedArbitrary<Body>[]>(
  { weight: 12, arbitrary: newBook },
  { weight: 1, arbitrary: fc.oneof(changes, maybeRefused, oddBody) },
)
const updateBody = fc.oneof<fc.WeightedArbitrary<Body>[]>(
  { weight: 6, arbitrary: changes },
  { weight: 1, arbitrary: fc.constant('{}') },
  { weight: 2, arbitrary: fc.oneof(maybeRefused, oddBody) },
)
// Any of the books alike, not the first and the last more often.
const target = fc.oneof<fc.WeightedArbitrary<number | string>[]>(
  { weight: 9, arbitrary: fc.noBias(fc.nat(999)) },
  { weight: 1, arbitrary: oddId },
)
const condition = fc.option(
  fc.record({
    field: fc.constantFrom('if-match', 'if-none-match'),
    tag: fc.constantFrom('now', 'created', 'other'),
  }),
  { freq: 2, nil: undefined },
)
const constant = <Value extends string>(value: Value) => fc.constant(value)

const create = fc.record({ kind: constant('create'), body: createBody })
const update = fc.record({
  kind: constant('book'),
  method: constant('PUT'),
  target,
  body: updateBody,
  condition,
})
const other = fc.record({
  kind: constant('book'),
  method: fc.constantFrom('GET', 'GET', 'HEAD', 'DELETE'),
  target,
  condition,
})
const path = fc.record({
  kind: constant('path'),
  method: fc.constantFrom('PATCH', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'),
  path: fc.constantFrom('/books', '/book/1/', '/book/', '/Books', '/book/1/2', '/'),
})

const SORTS = ['id', '-id', 'title', '-title', 'author', '-author', 'year', '-year']
const words = fc.oneof(
  knownText,
  fc.tuple(knownText, knownText).map((texts) => texts.join(' ')),
  fc.constantFrom('x', 'a', 'i s', 'é ß', '0', "x' 1"),
)
const number = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('0', '1', '-44', '1965', '2147483648', '9007199254740991') },
  { weight: 1, arbitrary: knownNumber },
)
const sort = fc.oneof(
  { weight: 8, arbitrary: fc.subarray(SORTS, { minLength: 1, maxLength: 3 }).map((names) => names.join()) },
  { weight: 1, arbitrary: fc.constantFrom('', 'isbn', 'title,title', '-', ' title', 'title;id') },
)
const limit = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 12 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('1000', '1001', '0', '-1', '1.0', '') },
)
const parameter = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('limit'), limit) },
  { weight: 6, arbitrary: fc.tuple(fc.constant('sort'), sort) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('q'), words) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('title', 'author'), knownText) },
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom('year', 'year_min', 'year_max'), number) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('count'), fc.constantFrom('true', 'true', 'false', '1')) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom('after', 'Limit', 'id', '', '__proto__'), knownText) },
)
/** Also what is not text: half an emoji is sent as UTF-8 would write it. */
const encode = (value: string) => encodeURIComponent(value.replaceAll(/\p{Cs}/gu, '\uFFFD'))
const query = fc.record({
  kind: constant('query'),
  path: fc
    .oneof(
      {
        weight: 12,
        arbitrary: fc.uniqueArray(parameter, { selector: ([name]) => name, minLength: 1, maxLength: 4 }),
      },
      { weight: 1, arbitrary: fc.array(parameter, { minLength: 1, maxLength: 6 }) },
      { weight: 4, arbitrary: fc.constant([]) },
    )
    .map((parameters) => `/books?${parameters.map(([name, value]) => `${name}=${encode(value)}`).join('&')}`),
  isTampered: fc.nat(9).map((number) => number === 0),
})

const several = fc.oneof(
  { weight: 6, arbitrary: update },
  { weight: 4, arbitrary: other },
  { weight: 1, arbitrary: path },
  { weight: 4, arbitrary: query },
)

/**
 * Requests that are made at once. Books are created one after another, so that they have the same order everywhere; and
 * there are some in the beginning, to do anything with.
 */
export const sequence: fc.Arbitrary<readonly (readonly Request[])[]> = fc
  .tuple(
    fc.array(create, { minLength: 2, maxLength: 8 }),
    fc.array(
      fc.oneof(
        { weight: 1, arbitrary: fc.tuple(create) },
        { weight: 2, arbitrary: fc.tuple(several) },
        { weight: 1, arbitrary: fc.array(several, { minLength: 2, maxLength: 8 }) },
      ),
      { maxLength: 30, size: 'max' },
    ),
  )
  .map(([books, steps]) => [...books.map((book) => [book]), ...steps])
