import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MAX_BOOK_SIZE } from '../../src/catalogue/book.ts'
import type { ReadFormat } from '../../src/files/formats.ts'
import { FAULT_CODES } from '../../src/files/import-report.ts'
import { readFile } from './read.ts'

for (const [header, title, author, year] of [
  ['id,title,author,year', 'title', 'author', 'year'],
  ['Year Published,Author,Title', 'Title', 'Author', 'Year Published'],
  ['Title,Author,Year Published,Original Publication Year', 'Title', 'Author', 'Original Publication Year'],
  ['Secondary Author,Primary Author,Title,Date', 'Title', 'Primary Author', 'Date'],
  ['title,authors,pubdate', 'title', 'authors', 'pubdate'],
  ['Title,Authors,ISBN/UID', 'Title', 'Authors', null],
  ['Jahr;Titel;"=""Verfasser""" ', 'Titel', 'Verfasser', 'Jahr'],
  ['Erscheinungsdatum;Erscheinungsjahr;Titel;Autor', 'Titel', 'Autor', 'Erscheinungsjahr'],
  ['Name,Author,Year', null, 'Author', 'Year'],
  ['Title,Titel,Author', null, 'Author', null],
] as const)
  it(`the report names the columns that were found: ${header}`, async () => {
    const { report } = await readFile(`${header}\n`, 'csv')
    assert.deepEqual(report.columns, { title, author, year })
  })

it('the report names the columns that were chosen, and the encoding', async () => {
  const columns = { title: 'b', year: '' }
  const { report } = await readFile('title,author,year,B\nT,A,1,U\n', 'csv', 7, { columns, encoding: 'big5' })
  assert.deepEqual(report.columns, { title: 'B', author: 'author', year: null })
  assert.equal(report.encoding, 'big5')
  const utf16 = await readFile(Buffer.from('\ufefftitle,author,year', 'utf16le'), 'csv', 1, {
    encoding: 'big5',
  })
  assert.equal(utf16.report.encoding, 'utf-16le')
})

it('the preview has the names and five rows, also of a file that is refused because of its columns', async () => {
  const rows = ['1', '2', '3', '4', '5', '6'].map((name) => [name, 'x'.repeat(101), ''])
  for (const header of ['title,author,year', 'Title,Name,Date']) {
    const text = `\n${header}\n,,\n${rows.map((cells) => cells.join(',')).join('\n')}`
    for (const length of [1, 1000]) {
      const { preview } = (await readFile(text, 'csv', length)).report
      const shown = rows.slice(0, 5).map(([name]) => [name, 'x'.repeat(100), ''])
      assert.deepEqual(preview, [header.split(','), ...shown])
    }
  }
})

it('a file is not read to its end if its columns are not clear', async () => {
  const text = `Name,Writer\n${'T,A\n'.repeat(10)}"${'x'.repeat(3_000_000)}`
  assert.match((await readFile(text, 'csv')).error ?? '', /none that is known to be the title or the year/)
})

it('every fault has a code', async () => {
  const codes = new Set<string>(['columns'])
  for (const [format, row, code] of [
    ['ndjson', '{"title":"T","year":1}', 'missing'],
    ['ndjson', '{"title":"T","author":"A","year":"1"}', 'wrong_type'],
    ['csv', 'T,A,x', 'wrong_type'],
    ['csv', 'T\0,A,1', 'invalid_character'],
    ['ndjson', '{"title":"\\ud800","author":"A","year":1}', 'invalid_character'],
    ['csv', `T,${'x'.repeat(MAX_BOOK_SIZE)},1`, 'too_long'],
    ['csv', 'T\xff,A,1', 'invalid_bytes'],
    ['ndjson', '\xff', 'invalid_bytes'],
    ['csv', '"T"x,A,1', 'misplaced_quote'],
    ['csv', 'T', 'wrong_field_count'],
    ['ndjson', '{', 'not_json'],
    ['ndjson', '[]', 'not_json'],
    ['ndjson', `{"x":[${'0,'.repeat(10_000)}0]}`, 'too_complex'],
  ] as const satisfies readonly (readonly [ReadFormat, string, (typeof FAULT_CODES)[number]])[]) {
    const text = `${format === 'csv' ? 'title,author,year\n' : ''}${row}\n`
    const { report } = await readFile(Buffer.from(text, 'latin1'), format)
    assert.deepEqual(
      report.faults.map((fault) => fault.code),
      [code],
    )
    codes.add(code)
  }
  assert.deepEqual([...codes].toSorted(), [...FAULT_CODES].toSorted())
})
