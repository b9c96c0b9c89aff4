import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { isFault, NewBook, parseBookId, validateBook } from '../../src/catalogue/book.ts'

for (const text of ['1', '9', '10', '4294967296', '1000000000000000', '9007199254740990', '9007199254740991'])
  it(`${text} is an id of a book`, () => assert.equal(parseBookId(text), Number(text)))

const NO_IDS =
  '0 -0 -1 +1 01 007 1.0 1.5 .5 1. 1e3 0x1 0b1 1_000 1,000 1n %31 1%20 ١ １ ² abc 1a a1 NaN Infinity null __proto__ 1/2 ' +
  '9007199254740992 9999999999999999 10000000000000000 18446744073709551617'
for (const text of [...NO_IDS.split(' '), '', ' 1', '1 ', '1\n', '\n1', '1'.repeat(10_000)])
  it(`${JSON.stringify(text.slice(0, 40))} is none`, () => assert.equal(parseBookId(text), undefined))

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

it('the fields of a row in a file are accepted exactly where POST /book accepts them', () => {
  const matchesSchema = new Ajv().compile(NewBook)
  const value = fc.oneof(
    fc.string({ unit: fc.integer({ max: 0xffff }).map((n) => String.fromCharCode(n)) }),
    fc.double(),
    fc.maxSafeInteger(),
    fc.constantFrom(undefined, null, true, 2 ** 53, -(2 ** 53), [], {}, '\0', '\ud800'),
  )
  const property = fc.property(value, value, fc.oneof(value, fc.maxSafeInteger()), (title, author, year) => {
    const fields = { title, author, year }
    assert.equal(!isFault(validateBook(fields)), matchesSchema(fields))
  })
  fc.assert(property, { numRuns: 2000 })
})
