import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MAX_BOOK_SIZE } from '../../src/catalogue/book.ts'
import { hostileBooks } from './hostile-books.ts'
import { assertRead, assertRefused, NO_YEAR } from './read.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }
const book = JSON.stringify(BOOK)

describe('NDJSON', () => {
  const format = 'ndjson'

  for (const [line, reason] of Object.entries({
    '{"title":1}{': '"{\\"title\\":1}{" is not JSON',
    'title,author,year': '"title,author,year" is not a JSON object',
    '[{}]':
      'is a JSON array; a file of one array is read if its name ends with .json, or its type is application/json',
    '{"title":{"a":1},"author":"A","year":1}': 'title: an object is not text',
    '{"title":"T","author":"A","year":{"toString":1}}': `year: an object ${NO_YEAR}`,
    '{"title":["a"],"author":"A","year":1}': 'title: an array is not text',
    '{"title":"\\ud800","author":"A","year":1}': 'title: "�" is not well-formed Unicode',
    '{"title":"T","author":null,"year":1}': 'author: null is not text',
    '{"title":"T","author":"A","year":"-1979"}': 'year: "-1979" is text, not a number',
    '{}': 'title: is missing',
  }))
    it(`is refused with ${line}: ${reason}`, async () => {
      await assertRefused(`\n${line}\n`, `1 of 1 rows cannot be stored; line 2: ${reason}`, { format })
    })

  it('may have blank lines, and the longest book as an export has it, with its id', async () => {
    const { empty } = await assertRead(`\ufeff${book}\r\n \t\r\n\n`, [BOOK], { format })
    assert.equal(empty, 2)
    const longest = { ...BOOK, title: 'x'.repeat(MAX_BOOK_SIZE - book.length + BOOK.title.length) }
    const line = JSON.stringify({ id: Number.MAX_SAFE_INTEGER, ...longest })
    await assertRead(`${line}\n`, [longest], { format, length: line.length })
  })

  it('is refused if a line has much beside its texts, or is longer than a book may be', async () => {
    const texts = { title: '\\"[', author: '[],"'.repeat(100_000), year: 1 }
    await assertRead(JSON.stringify(texts), [texts], { format })
    const spaces = 16_384 - '{"":"","":"","":1,"":[]}'.length
    const spaced = (count: number) => `{"title":"T","author":"A","year":1,"x":[${' '.repeat(count)}]}`
    await assertRead(spaced(spaces), [BOOK], { format })
    const reason = /line 1: has more than 16384 characters outside its strings/
    await assertRefused(spaced(spaces + 1), reason, { format })
    await assertRefused(`\n{"title":"${'x'.repeat(2_000_000)}`, 'line 2 is too long', { format })
  })
})

describe('books as a JSON array', () => {
  const format = 'json'

  it('are read whatever their texts hold, in whatever parts and with whatever white space', async () => {
    const space = fc.constantFrom(undefined, 1, '\t')
    const lengths = fc.integer({ min: 1, max: 200 })
    const property = fc.asyncProperty(hostileBooks, space, lengths, async (books, space, length) => {
      const withOthers = books.map((each) => ({ ...each, '[{"\\': ['[', { x: '\\"]}' }] }))
      const text = ` ${JSON.stringify(withOthers, undefined, space)}\r\n`
      const { rows } = await assertRead(text, books, { format, length })
      assert.equal(rows, books.length)
    })
    await fc.assert(property, { numRuns: 100 })
    // A part of one byte is no text, after a backslash too.
    const quotes = [{ ...BOOK, title: '"' }]
    await assertRead(Buffer.from(JSON.stringify(quotes), 'utf16le'), quotes, { format })
  })

  it('have faults with the line in which they begin, and their number', async () => {
    const text = `\ufeff[\n  ${book}, {"title": 1,\n"author": "A"},\r\n\n{"title":"T"}, {x},\n[${book}]\n]`
    const error = '4 of 5 rows cannot be stored; line 2: title: 1 is not text (item 2)'
    const { faults } = await assertRefused(text, error, { format })
    const noObject = `${JSON.stringify(`[${book}]`)} is not a JSON object (item 5)`
    assert.deepEqual(faults, [
      { line: 2, field: 'title', code: 'wrong_type', reason: '1 is not text (item 2)' },
      { line: 5, field: 'author', code: 'missing', reason: 'is missing (item 3)' },
      { line: 5, field: null, code: 'not_json', reason: '"{x}" is not JSON (item 4)' },
      { line: 6, field: null, code: 'not_json', reason: noObject },
    ])
  })

  it('are refused if one is longer than any book with much beside its fields', async () => {
    const long = { title: 'x'.repeat(900_000), author: 'A', year: 1 }
    await assertRead(JSON.stringify([{ ...long, notes: 'n'.repeat(900_000) }]), [long], { format })
    const endless = `[\n\n{"title":"${'x'.repeat(3 * MAX_BOOK_SIZE)}`
    await assertRefused(endless, 'line 3: the book is too long', { format })
  })

  for (const [text, ...books] of [['[]'], [' [ \n ] \n'], [`\n[${book}\n,${book} ]\n`, BOOK, BOOK]] as const)
    it(`may be ${JSON.stringify(text)}`, async () => void (await assertRead(text, books, { format })))

  const LINES =
    '; with one object in each line it is read if its name ends with .ndjson, or its type is application/x-ndjson'
  const array = (found: string, expected: string) =>
    `the file has ${found} where a JSON array of objects has "${expected}"`
  for (const [text, reason] of [
    ['', `line 1: ${array('nothing', '[]')}`],
    ['{}', `line 1: ${array('"{}"', '[]')}${LINES}`],
    [
      `\n{"data":[${book}]}`,
      `line 2: ${array('"{\\"data\\":"', '[')}; the books have to be an array of their own`,
    ],
    [`${book}\n${book}\n`, /^line 3: the file has "\{.*" where a JSON .*; with one object in each/],
    [`${book}\n`.repeat(60_000), /^line 1: the file has "\{.*" where a JSON .*; with one object in each/],
    [`[${book}`, 'the JSON array is not closed; is the file complete?'],
    ['[{"title":"T', 'the JSON array is not closed; is the file complete?'],
    [`[${book},]`, `line 1: ${array('",]"', ']')}`],
    [`[${book}\n${book}]`, `line 2: ${array('nothing', ',')}`],
    [`[${book}][${book}]`, `line 1: ${array('"]["', ',')}`],
    [`[${'1,'.repeat(1000)}1]`, /^line 1: the file has "\[1,1,.*…" where a JSON .* has "\[\]"$/],
  ] as const)
    it(`are refused from ${JSON.stringify(text).slice(0, 50)}`, async () =>
      void (await assertRefused(text, reason, { format })))
})
