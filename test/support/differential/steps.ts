import fc from 'fast-check'
import { numberFragment, oddBody, oddId, refusedFragment, textFragment } from './fragments.ts'
import { type ListQuery, listQuery } from './parameters.ts'
import type { Fragment } from './values.ts'

export type Body = string | Buffer

/** A book by a number that is reduced to one of those there are or were, or what stands in the place of an id. */
export type Target = number | string

/** A header field, and whose entity tag it has: that of the book now, as it was created, or of another one. */
export interface Condition {
  readonly field: 'if-match' | 'if-none-match'
  readonly tag: 'now' | 'created' | 'other'
}

/** Operations on a single book that may have a condition. */
type Conditional = { readonly target: Target; readonly condition?: Condition | undefined }

export type Operation =
  | { readonly kind: 'create'; readonly body: Body }
  | ({ readonly kind: 'update'; readonly body: Body } & Conditional)
  | ({ readonly kind: 'read' | 'delete' | 'head' } & Conditional)
  | { readonly kind: 'list' }
  | { readonly kind: 'query'; readonly query: ListQuery }
  | { readonly kind: 'other'; readonly method: string; readonly path: string }

/** Operations that one follows the other, or that are done at once. */
export type Step =
  | { readonly kind: 'one'; readonly operation: Operation }
  /** Each at another book, so that no response depends on the order. */
  | { readonly kind: 'together'; readonly operations: readonly Operation[] }
  /** All at one book: which of them is answered how depends on the order, how many are does not. */
  | { readonly kind: 'deleteTogether'; readonly target: number; readonly times: number }
  | { readonly kind: 'updateTogether'; readonly target: number; readonly bodies: readonly Body[] }

type Fields = Readonly<Record<string, Fragment>>

const unknownFields: fc.Arbitrary<Fields> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
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
function bodyOf(known: fc.Arbitrary<Fields>): fc.Arbitrary<string> {
  return fc
    .tuple(known, unknownFields, fc.boolean())
    .map(([fields, others, first]) => write(first ? { ...others, ...fields } : { ...fields, ...others }))
}

function write(fields: Fields): string {
  return `{${Object.entries(fields)
    .map(([name, fragment]) => `"${name}":${fragment}`)
    .join(',')}}`
}

const fields = { title: textFragment, author: textFragment, year: numberFragment }
const anything = fc.oneof(textFragment, numberFragment, refusedFragment)
const newBook = bodyOf(fc.record(fields))
const changes = bodyOf(fc.record(fields, { requiredKeys: [] }))
const maybeRefused = bodyOf(
  fc.record({ title: anything, author: anything, year: anything }, { requiredKeys: [] }),
)

const createBody: fc.Arbitrary<Body> = fc.oneof(
  { weight: 12, arbitrary: newBook },
  { weight: 1, arbitrary: fc.oneof(changes, maybeRefused, oddBody) },
)
const updateBody: fc.Arbitrary<Body> = fc.oneof(
  { weight: 6, arbitrary: changes },
  { weight: 1, arbitrary: fc.constant('{}') },
  { weight: 2, arbitrary: fc.oneof(maybeRefused, oddBody) },
)
const kind = <Kind extends string>(kind: Kind) => fc.constant(kind)
// Any of the books alike, not the first and the last more often.
const which = fc.noBias(fc.nat(999))
const target: fc.Arbitrary<Target> = fc.oneof(
  { weight: 9, arbitrary: which },
  { weight: 1, arbitrary: oddId },
)
const other = fc.record({
  kind: kind('other'),
  method: fc.constantFrom('PATCH', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'),
  path: fc.constantFrom('/books', '/book/1/', '/book/', '/Books', '/book/1/2', '/'),
})
const create = fc.record({ kind: kind('create'), body: createBody })
const condition: fc.Arbitrary<Condition | undefined> = fc.option(
  fc.record({
    field: fc.constantFrom('if-match', 'if-none-match'),
    tag: fc.constantFrom('now', 'created', 'other'),
  }),
  { freq: 2, nil: undefined },
)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: create },
  { weight: 6, arbitrary: fc.record({ kind: kind('update'), target, body: updateBody, condition }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('read'), target, condition }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('delete'), target, condition }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('head'), target, condition }) },
  { weight: 1, arbitrary: other },
)
const several = { minLength: 2, maxLength: 8 }
const partialUpdates = fc
  .tuple(textFragment, textFragment, numberFragment)
  .map(([title, author, year]) => [write({ title }), write({ author }), write({ year }), '{}'])

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: kind('one'), operation }) },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: 'one', operation: { kind: 'list' } }) },
  {
    weight: 6,
    arbitrary: listQuery.map((query): Step => ({ kind: 'one', operation: { kind: 'query', query } })),
  },
  { weight: 4, arbitrary: fc.record({ kind: kind('together'), operations: fc.array(operation, several) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: kind('deleteTogether'),
      target: which,
      times: fc.integer({ min: 2, max: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind('updateTogether'), target: which, bodies: partialUpdates }),
  },
)

/** Begins with some books, so that there is something to do anything with. */
export const sequence: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.record({ kind: kind('together'), operations: fc.array(create, several) }),
    fc.array(step, { maxLength: 30, size: 'max' }),
  )
  .map(([books, steps]) => [books, ...steps])
