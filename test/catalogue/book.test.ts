import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseBookId } from '../../src/catalogue/book.ts'

describe('a book id in a path', () => {
  for (const [text, id] of [
    ['1', 1],
    ['9', 9],
    ['10', 10],
    ['4294967296', 2 ** 32],
    ['1000000000000000', 1e15],
    ['9007199254740990', Number.MAX_SAFE_INTEGER - 1],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ] as const) {
    it(`${text} is an id`, () => assert.equal(parseBookId(text), id))
  }

  for (const text of [
    '',
    '0',
    '-0',
    '-1',
    '+1',
    '01',
    '007',
    '1.0',
    '1.5',
    '.5',
    '1.',
    '1e3',
    '0x1',
    '0b1',
    '1_000',
    '1,000',
    '1n',
    ' 1',
    '1 ',
    '1\n',
    '\n1',
    '%31',
    '1%20',
    '١',
    '１',
    '²',
    'abc',
    '1a',
    'a1',
    'NaN',
    'Infinity',
    'null',
    '__proto__',
    '1/2',
    '9007199254740992',
    '9007199254740993',
    '9999999999999999',
    '10000000000000000',
    '18446744073709551617',
    '1'.repeat(10_000),
  ]) {
    const shown = text.length > 40 ? `${text.length} digits` : JSON.stringify(text)
    it(`${shown} is none`, () => assert.equal(parseBookId(text), undefined))
  }
})
