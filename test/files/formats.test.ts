import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MAX_BOOK_SIZE, type NewBook } from '../../src/catalogue/book.ts'
import { pageOf } from '../../src/catalogue/page.ts'
import { FORMATS, formatOfName } from '../../src/files/formats.ts'
import { MAX_FAULTS, MAX_FAULTY } from '../../src/files/import-report.ts'
import { type FileKind, framings, guarded, unguarded } from '../../src/files/write-books.ts'
import { hostileBooks } from './hostile-books.ts'
import { assertRead, assertRefused, readFile } from './read.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

/** The text of a file with these books, as the pages of a store are written. */
function write(books: readonly NewBook[], kind: FileKind, pageLength = 3): string {
  const { head, between, tail, render } = framings[kind]
  const all = books.map(({ title, author, year }, i) => ({ id: i + 1, title, author, year }))
  const pages: string[] = []
  for (let i = 0; i < all.length; i += pageLength)
    pages.push(render(pageOf(all.slice(i, i + pageLength), { last: undefined, more: false })))
  return head + pages.join(between) + tail
}

for (const kind of [...FORMATS, 'spreadsheet'] as const) {
  const format = kind === 'spreadsheet' ? 'csv' : kind

  it(`books as ${kind} are read as they were written, whatever their texts hold`, async () => {
    const lengths = fc.integer({ min: 1, max: 200 })
    const property = fc.asyncProperty(hostileBooks, lengths, async (books, length) => {
      const report = await assertRead(write(books, kind), books, { format, length })
      assert.equal(report.source, 'this service')
    })
    await fc.assert(property, { numRuns: 100 })
  })
}

for (const format of FORMATS) {
  describe(`books as ${format}`, () => {
    it('are read without the bad ones if these are skipped, and no longer when very many are bad', async () => {
      const [text, bad] = [write([BOOK], format), 'x\r\n']
      const row = text.slice(format === 'csv' ? text.indexOf('\n') + 1 : 0)
      const some = `${text}${bad}${row.repeat(500)}${bad.repeat(9000)}${row}`
      const { rows, faulty, faults } = await assertRead(some, Array(502).fill(BOOK), {
        format,
        skipFaulty: true,
      })
      assert.deepEqual([rows, faulty, faults.length], [9503, 9001, MAX_FAULTS])
      for (const skipFaulty of [false, true]) {
        const error = /^10000 of 10001 rows cannot be stored; line [23]: /
        const report = await assertRefused(text + bad.repeat(20_000), error, { format, skipFaulty })
        assert.deepEqual([report.rows, report.faulty], [MAX_FAULTY + 1, MAX_FAULTY])
      }
    })

    for (const unit of ['x', '🂡', '"', '\b\t\n\f\r', '\u0001\v'])
      it(`are read up to the size that POST /book takes: ${JSON.stringify(unit)}`, async () => {
        const space = MAX_BOOK_SIZE - JSON.stringify({ title: '', author: '', year: 1 }).length
        const size = Buffer.byteLength(JSON.stringify(unit)) - 2
        const title = unit.repeat(Math.floor(space / size))
        const longest = { title, author: 'A'.repeat(space % size), year: 1 }
        const text = write([longest], format)
        // In parts, of which one has all but the last byte, or in those of a file.
        for (const length of [Buffer.byteLength(text) - 1, 64 * 1024])
          await assertRead(text, [longest], { format, length })
        const longer = write([{ ...longest, author: `${longest.author}A` }], format)
        const reason = /: title: ".{40,250}…" is too long: as JSON, a book has at most 1048576 bytes$/
        await assertRefused(longer, reason, { format })
      })
  })
}

it('the examples are what this service writes', async () => {
  const examples = readFileSync(join(import.meta.dirname, '../../examples/books.csv'), 'utf8')
  const { books, error } = await readFile(examples)
  assert.equal(error, undefined)
  assert.ok(books.length > 100 && books.some(({ year }) => year < 0))
  assert.equal(write(books, 'csv'), examples)
})

describe('in CSV for spreadsheets', () => {
  it('no cell begins with a formula, whatever separates the cells, and nothing is lost', () => {
    const text = fc.string({ unit: fc.constantFrom(..."'=+-@＝＋－＠;\t\r\na") })
    const property = fc.property(text, (text) => {
      const safe = guarded(text)
      assert.doesNotMatch(safe, /(?:^|[;\t\r\n])[=+\-@＝＋－＠]/)
      assert.doesNotMatch(safe, /^[\t\r\n]/)
      assert.equal(unguarded(safe), text)
    })
    fc.assert(property, { numRuns: 2000 })
  })

  it('the apostrophes are removed from columns that are named too, and from no other file', async () => {
    const columns = { title: 'author', author: 'title' }
    const sheet = write([{ title: '=1', author: 'A', year: 1 }], 'spreadsheet')
    await assertRead(sheet, [{ title: 'A', author: '=1', year: 1 }], { columns })
    const own = "id,title,author,year\n1,'=1,'-A,1\n"
    await assertRead(own, [{ title: "'=1", author: "'-A", year: 1 }])
  })
})

it('the format of a file is told by its name', () => {
  for (const [format, ...names] of [
    ['csv', 'a.csv', 'B.CSV', 'x.tsv', 'x.txt'],
    ['ndjson', 'a.ndjson', 'a.JSONL'],
    ['json', 'a.json', 'B.JSON'],
    [undefined, 'a', 'csv', 'json', 'a.csv.gz', 'a.ndjson2'],
  ] as const)
    for (const name of names) assert.equal(formatOfName(name), format, name)
})

it('faults of whole rows and of sizes have their codes', async () => {
  for (const [format, row, code] of [
    ['csv', `T,${'x'.repeat(MAX_BOOK_SIZE)},1`, 'too_long'],
    ['ndjson', '\xff', 'invalid_bytes'],
    ['csv', '"T"x,A,1', 'misplaced_quote'],
    ['ndjson', `{"x":[${'0,'.repeat(10_000)}0]}`, 'too_complex'],
  ] as const) {
    const text = `${format === 'csv' ? 'title,author,year\n' : ''}${row}\n`
    const { report } = await readFile(Buffer.from(text, 'latin1'), { format })
    assert.deepEqual(
      report.faults.map((fault) => fault.code),
      [code],
    )
  }
})
