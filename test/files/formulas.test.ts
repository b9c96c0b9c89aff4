import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { pageOf } from '../../src/catalogue/page.ts'
import { framings, guarded, unguarded } from '../../src/files/write-books.ts'
import { hostileBooks } from './hostile-books.ts'
import { readFile } from './read.ts'

const { head, render } = framings.spreadsheet
const END = { last: undefined, more: false }

describe('CSV for spreadsheets', () => {
  it('has a byte order mark, and an apostrophe before each formula', () => {
    const books = [
      { id: 1, title: '=1+1', author: '+A, "B"', year: -5 },
      { id: 2, title: "'=1", author: "'tis", year: 5 },
    ]
    assert.equal(
      head + render(pageOf(books, END)),
      `\ufeffbook-catalogue id,title,author,year\r\n1,'=1+1,"'+A, ""B""",-5\r\n2,''=1,'tis,5\r\n`,
    )
  })

  for (const [text, safe] of [
    ['', ''],
    ['a=b', 'a=b'],
    ["O'Brien -- a life", "O'Brien -- a life"],
    ['-', "'-"],
    ['@SUM(1)', "'@SUM(1)"],
    ['\t=1', "'\t'=1"],
    ['\r\n=1', "'\r'\n'=1"],
    ['＝1', "'＝1"],
    ['x;=1', "x;'=1"],
    ['x;y\n+1', "x;y\n'+1"],
    ["''+", "'''+"],
  ] as const) {
    it(`guards ${JSON.stringify(text)} as ${JSON.stringify(safe)}`, () => {
      assert.equal(guarded(text), safe)
      assert.equal(unguarded(safe), text)
    })
  }

  it('leaves no cell that begins with a formula, whatever separates the cells, and loses nothing', () => {
    const text = fc.string({ unit: fc.constantFrom(..."'=+-@＝;\t\r\na") })
    fc.assert(
      fc.property(text, (text) => {
        const safe = guarded(text)
        assert.doesNotMatch(safe, /(?:^|[;\t\r\n])[=+\-@＝]/)
        assert.doesNotMatch(safe, /^[\t\r\n]/)
        assert.equal(unguarded(safe), text)
      }),
      { numRuns: 2000 },
    )
  })

  it('is read as it was written', async () => {
    const property = fc.asyncProperty(hostileBooks, async (books) => {
      const page = pageOf(
        books.map((book, i) => ({ id: i + 1, ...book })),
        END,
      )
      const { books: read, error, report } = await readFile(head + render(page), 'csv', 100)
      assert.deepEqual([error, read, report.source], [undefined, books, 'this service'])
    })
    await fc.assert(property, { numRuns: 100 })
    const named = await readFile(
      head + render(pageOf([{ id: 1, title: '=1', author: 'A', year: 1 }], END)),
      'csv',
      100,
      {
        columns: { title: 'author', author: 'title' },
      },
    )
    assert.deepEqual(named.books, [{ title: 'A', author: '=1', year: 1 }])
    const own = await readFile("id,title,author,year\n1,'=1,'-A,1\n", 'csv')
    assert.deepEqual(own.books, [{ title: "'=1", author: "'-A", year: 1 }])
  })
})
