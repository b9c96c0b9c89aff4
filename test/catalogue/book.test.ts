import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { isFault, NewBook, parseBookId, validateBook } from '../../src/catalogue/book.ts'

it('an id of a book is at most 2^53−1', () => {
  assert.equal(parseBookId('9007199254740991'), Number.MAX_SAFE_INTEGER)
  assert.equal(parseBookId('9007199254740992'), undefined)
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
