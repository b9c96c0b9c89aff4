import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MAX_BOOK_SIZE } from '../../src/catalogue/book.ts'
import { hostileBooks } from './hostile-books.ts'
import { readFile } from './read.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }
const book = JSON.stringify(BOOK)

describe('books as a JSON array', () => {
  it('are read whatever their texts hold, in whatever parts and with whatever white space the file arrives', async () => {
    const space = fc.constantFrom(undefined, 1, '\t')
    const property = fc.asyncProperty(
      hostileBooks,
      space,
      fc.integer({ min: 1, max: 200 }),
      async (books, space, length) => {
        const withOthers = books.map((each) => ({ ...each, '[{"\\': ['[', { x: '\\"]}' }] }))
        const text = ` ${JSON.stringify(withOthers, undefined, space)}\r\n`
        const { books: read, error, report } = await readFile(text, 'json', length)
        assert.deepEqual([error, read, report.rows], [undefined, books, books.length])
      },
    )
    await fc.assert(property, { numRuns: 100 })
  })

  it('are read wherever a character of UTF-16 is cut', async () => {
    const title = '"\\'.repeat(20)
    const text = JSON.stringify([{ ...BOOK, title }])
    const bytes = Buffer.from(`\ufeff${text}`, 'utf16le')
    for (let length = 1; length < 20; length++) {
      const { books, error } = await readFile(bytes, 'json', length)
      assert.deepEqual([error, books[0]?.title], [undefined, title])
    }
  })

  it('have faults with the line in which they begin, and their number', async () => {
    const text = `\ufeff[\n  ${book}, {"title": 1,\n"author": "A"},\r\n\n{"title":"T"}, {x},\n[${book}]\n]`
    for (const length of [1, 2, 3, 1000]) {
      const { report, error } = await readFile(text, 'json', length)
      assert.deepEqual(report.faults, [
        { line: 2, field: 'title', code: 'wrong_type', reason: '1 is not text (item 2)' },
        { line: 5, field: 'author', code: 'missing', reason: 'is missing (item 3)' },
        { line: 5, field: null, code: 'not_json', reason: '"{x}" is not JSON (item 4)' },
        {
          line: 6,
          field: null,
          code: 'not_json',
          reason: `${JSON.stringify(`[${book}]`)} is not a JSON object (item 5)`,
        },
      ])
      assert.equal(error, '4 of 5 rows cannot be stored; line 2: title: 1 is not text (item 2)')
    }
  })

  it('are up to as long as POST /book takes them', async () => {
    const title = 'x'.repeat(MAX_BOOK_SIZE - JSON.stringify({ ...BOOK, title: '' }).length)
    const { books, error } = await readFile(JSON.stringify([BOOK, { ...BOOK, title }]), 'json')
    assert.deepEqual([error, books.length], [undefined, 2])
    const longer = await readFile(JSON.stringify([{ ...BOOK, title: `${title}x` }]), 'json')
    assert.match(longer.error ?? '', /line 1: title: "x{40}…" is too long: as JSON/)
    const endless = await readFile(`[\n\n{"title":"${title.repeat(3)}`, 'json')
    assert.equal(endless.error, 'line 3: the book is too long')
  })

  for (const text of ['[]', ' [ \n ] \n', `[${book}]`, `\n[${book}\n,${book} ]\n`]) {
    it(`may be ${JSON.stringify(text)}`, async () => {
      for (const length of [1, 2, 1000]) assert.equal((await readFile(text, 'json', length)).error, undefined)
    })
  }

  const LINES =
    '; with one object in each line it is read if its name ends with .ndjson, or its type is application/x-ndjson'
  for (const [text, reason] of [
    ['', 'line 1: the file has nothing where a JSON array of objects has "[]"'],
    ['null', 'line 1: the file has "null" where a JSON array of objects has "[]"'],
    ['{}', `line 1: the file has "{}" where a JSON array of objects has "[]"${LINES}`],
    [
      `\n{"data":[${book}]}`,
      `line 2: the file has "{\\"data\\":" where a JSON array of objects has "["${LINES}`,
    ],
    [
      `${book}\n${book}\n`,
      /^line 3: the file has "\{.*" where a JSON array of objects has "\[\]?"; with one object in each line/,
    ],
    [`[${book}`, 'the JSON array is not closed; is the file complete?'],
    [`[${book},\n`, 'the JSON array is not closed; is the file complete?'],
    ['[{"title":"T', 'the JSON array is not closed; is the file complete?'],
    [`[${book},]`, 'line 1: the file has ",]" where a JSON array of objects has "]"'],
    [`[${book}\n${book}]`, 'line 2: the file has nothing where a JSON array of objects has ","'],
    [`[${book}, null, ${book}]`, 'line 1: the file has ", null," where a JSON array of objects has ","'],
    [`[${book}][${book}]`, 'line 1: the file has "][" where a JSON array of objects has ","'],
    [`[${book}] x`, 'line 1: the file has "] x" where a JSON array of objects has "]"'],
    [
      `[${'1,'.repeat(1000)}1]`,
      /^line 1: the file has "\[1,1,.*…" where a JSON array of objects has "\[\]"$/,
    ],
    [
      'title,author,year\nT,A,1\n',
      /^line \d: the file has "title,author,.*" where a JSON array of objects has "\[\]"$/,
    ],
  ] as const) {
    it(`are refused from ${JSON.stringify(text).slice(0, 50)}`, async () => {
      const { error } = await readFile(text, 'json')
      if (typeof reason === 'string') assert.equal(error, reason)
      else assert.match(error ?? '', reason)
    })
  }

  it('are refused if the file is no text, and read in an encoding that is named', async () => {
    assert.match((await readFile('PK\x03\x04', 'json')).error ?? '', /^the file is a spreadsheet/)
    const file = Buffer.from('[{"title":"\xdc","author":"A","year":1}]', 'latin1')
    assert.match(
      (await readFile(file, 'json')).error ?? '',
      /line 1: title: "�" is not in UTF-8; .* \(item 1\)$/,
    )
    const { books } = await readFile(file, 'json', 1, { encoding: 'windows-1252' })
    assert.deepEqual(books, [{ title: 'Ü', author: 'A', year: 1 }])
  })
})
