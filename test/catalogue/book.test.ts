import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { isFault, NewBook, parseBookId, validateBook } from '../../src/catalogue/book.ts'

// Other spellings of ids: test/spec/decisions.test.ts.
for (const [text, id] of [
  ['1', 1],
  ['9007199254740991', 9007199254740991],
  ['9007199254740992', undefined],
  ['0', undefined],
  ['01', undefined],
  ['1\n', undefined],
] as const)
  it(`${JSON.stringify(text)} is ${id ? 'an' : 'no'} id of a book`, () => assert.equal(parseBookId(text), id))

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
