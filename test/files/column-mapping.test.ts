import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type ColumnMapping, parseColumns } from '../../src/files/column-names.ts'
import { readFile } from './read.ts'

const read = (text: string, columns?: ColumnMapping) => readFile(text, 'csv', undefined, { columns })

describe('a mapping of columns', () => {
  it('is read whatever names it has', () => {
    const name = fc.string({ minLength: 1, unit: fc.constantFrom(...'a,="\' \n年') })
    const mapping = fc.record(
      { title: name, author: name, year: name },
      { requiredKeys: [], noNullPrototype: true },
    )
    fc.assert(
      fc.property(mapping, (columns) => {
        const items = Object.entries(columns).map(([field, column]) => {
          const needsQuotes = column.includes(',') || column.startsWith('"')
          return `${field}=${needsQuotes ? `"${column.replaceAll('"', '""')}"` : column}`
        })
        assert.deepEqual(parseColumns(items.join(',')), items.length === 0 ? undefined : columns)
      }),
    )
    assert.deepEqual(parseColumns('year=,title=T'), { year: '', title: 'T' })
  })

  for (const text of [
    '',
    'title',
    'title=',
    'author=""',
    'title=T,',
    ',title=T',
    'title=T, author=A',
    'id=I',
    'Title=T',
    'title=Last, First',
    'title="T',
    'title="T"x',
    'title="a"b"',
    'title=T,title=U',
    'year=,year=Y',
  ]) {
    it(`is refused if it is ${JSON.stringify(text)}`, () => assert.equal(parseColumns(text), undefined))
  }

  for (const [what, text, columns, book] of [
    [
      'all fields',
      'Titel;Name, Vorname;Jahr\n T  U ;A;c1999\n',
      { title: 'Titel', author: ' name, vorname ', year: 'JAHR' },
      { title: 'T U', author: 'A', year: 1999 },
    ],
    [
      'some fields, the others have the names of fields',
      'Author,Titel,year\nA,T,1\n',
      { title: 'Titel' },
      { title: 'T', author: 'A', year: 1 },
    ],
    [
      'one field of our own file',
      'id,title,author,year,subtitle\n1, T ,A,1,U\n',
      { title: 'subtitle' },
      { title: 'U', author: 'A', year: 1 },
    ],
    [
      'one field of a known program',
      'Title,Author,Additional Authors,Year Published,Date Read\nT,A,B,1,2020-05-01\n',
      { year: 'Date Read' },
      { title: 'T', author: 'A, B', year: 2020 },
    ],
    [
      'one column for two fields',
      'title,name\nT,1984\n',
      { author: 'name', year: 'name' },
      { title: 'T', author: '1984', year: 1984 },
    ],
    [
      'a column of texts as they are, unless they are guarded in a file for spreadsheets',
      "Titel,author,year\n'=T,A,1\n",
      { title: 'Titel' },
      { title: "'=T", author: 'A', year: 1 },
    ],
    ['no years', 'title,author,,\nT,A,1,2\n', { year: '' }, { title: 'T', author: 'A', year: 0 }],
  ] as const) {
    it(`may name ${what}`, async () => {
      const { error, books } = await read(text, columns)
      assert.deepEqual([error, books], [undefined, [book]])
    })
  }

  it('makes unknown years 0, and counts them', async () => {
    const { books, report } = await read('title,author,year,x\nT,A,1,\nU,A,2,3\n', { year: 'x' })
    assert.deepEqual(
      books.map(({ year }) => year),
      [0, 3],
    )
    assert.deepEqual([report.withoutYear, report.source], [1, 'this service'])
    const none = await read('title,author\nT,A\n', { year: '' })
    assert.deepEqual([none.report.withoutYear, none.report.source], [1, 'another program'])
  })

  it('is refused if the file has no such column, or is not CSV', async () => {
    const { error } = await read('title,author,year\nT,A,1\n', { title: 'Titel' })
    assert.equal(error, 'there is no column "Titel"; the file has the columns "title", "author", "year"')
    const half = await read('Titel,Autor\nT,A\n', { title: 'Titel' })
    assert.equal(
      half.error,
      'the file has the columns "Titel", "Autor", and none that is known to be the year; name it, or say that there are no ' +
        'years, with columns=year=Jahr or columns=year=',
    )
    const json = await readFile('{}', 'ndjson', undefined, { columns: { title: 'Titel' } })
    assert.equal(json.error, 'columns can be named only for CSV')
  })
})
