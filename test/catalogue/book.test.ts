import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { isFault, NewBook, parseBookId, validateBook } from '../../src/catalogue/book.ts'
import { brokenRule } from '../../src/http/valid-input.ts'

it('an id of a book is at most 2^53−1', () => {
  assert.equal(parseBookId('9007199254740991'), Number.MAX_SAFE_INTEGER)
  assert.equal(parseBookId('9007199254740992'), undefined)
})

it('a fault quotes at most 40 characters of a value, on one line', () => {
  for (const [year, quoted] of [
    ['x'.repeat(40), 'x'.repeat(40)],
    ['x'.repeat(41), `${'x'.repeat(40)}…`],
    ['a\n\u0085\u2028\u2029\u202e\ud800', 'a\\n\\u{85}\\u{2028}\\u{2029}\\u{202e}\ufffd'],
  ] as const)
    assert.partialDeepStrictEqual(validateBook({ title: 'T', author: 'A', year }), {
      reason: `"${quoted}" is not a year (a whole number such as 1979 or -500)`,
    })
})

it('POST /book and imports accept exactly the fields that match the schema in the OpenAPI document', () => {
  const matchesSchema = new Ajv().compile(NewBook)
  const value = fc.oneof(
    fc.string({ unit: fc.integer({ max: 0xffff }).map((n) => String.fromCharCode(n)) }),
    fc.double(),
    fc.maxSafeInteger(),
    fc.constantFrom(undefined, null, true, 2 ** 53, -(2 ** 53), [], {}, '\0', '\ud800'),
    fc.constantFrom(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  )
  const property = fc.property(value, value, fc.oneof(value, fc.maxSafeInteger()), (title, author, year) => {
    const fields = { title, author, year }
    const isBook = matchesSchema(fields)
    assert.equal(!isFault(validateBook(fields)), isBook)
    assert.equal(brokenRule(fields, NewBook) === undefined, isBook)
  })
  fc.assert(property, { numRuns: 2000 })
})
