import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { NewBook } from '../../src/catalogue/book.ts'
import { hostileBooks } from './hostile-books.ts'
import { assertRead, assertRefused, NO_YEAR, readFile } from './read.ts'

const MISPLACED = 'has a quotation mark in the wrong place, or one that is not closed'

const bookOf = (year: number) => ({ title: 'T', author: 'A', year })

describe('CSV is read with', () => {
  for (const [what, text, ...years] of [
    ['a byte order mark, other columns, another order', '\ufeff"Year",shelf,Author,Title\r\n5,x,A,T\r\n', 5],
    ['as many semicolons as commas', 'title,author,year,a;b;c;d\nT,A,5,\n', 5],
    ['semicolons, and commas in quoted names', '"title";"author";"a,b,c,d";"year"\nT;A;"x;,";5\n', 5],
    ['quoted names of several lines', '"Book,\n""title"", \r";"Author\r";Year\nT;A;5\n', 5],
    [
      'a space before quotes',
      '"title", "author", "year; a; b; c", "year"\n"T", "A",,"5"\n "T", "A", 1, "6"',
      5,
      6,
    ],
    ['a comma that Excel declares', '"SEP=,"\rtitle,author,year,a;b;c;d;e\rT,A,5,\r', 5],
    ['another character that Excel would take', 'sep=|\ntitle|author|year\nT|A|5', 5],
    ['a name that begins as a ZIP archive does', 'PK,title,author,year\n1,T,A,5\n', 5],
    ['a blank first line', ' \t\n\n title;author;year\nT;A;5\n', 5],
    ['tabs, CR LF, then LF', 'title\tyear\tauthor\r\nT\t1\tA\n', 1],
    ['unused cells left out', 'Title,Author,Year,Notes,ISBN\nT,A,1,n,9\nT,A,2\nT,A,3,n\n', 1, 2, 3],
    ['a cell left out after a stray quote', 'Note,Title,Author,Year,ISBN\nx" y,T,A,1,9\nn,T,A,2\n', 1, 2],
    ['empty cells added', 'title;author;year\nT;A;1;\nT;A;2;;\nT;A;3; ; \n', 1, 2, 3],
  ] as const)
    it(what, async () => void (await assertRead(text, years.map(bookOf))))

  it('quotes and white space: a quote within a field, white space after one that closes', async () => {
    const { books } = await readFile('title,author,year\n6" nails,"A ""B""",1\n"T" ,"A"\v,"1"\t\n')
    assert.deepEqual(books, [{ title: '6" nails', author: 'A "B"', year: 1 }, bookOf(1)])
  })

  it('tabs, where quotes are around a field, of several lines perhaps, only if all those within are doubled', async () => {
    const many = '""'.repeat(20_000)
    const rows = ['"a""b"', '"a"b"', '"a"""b"', '"', `"${many}"`, `"${many}x"${many}"`, '"a\r\n\n"', '"', '"']
    const titles = [
      'a"b',
      '"a"b"',
      '"a"""b"',
      '"',
      '"'.repeat(20_000),
      `"${many}x"${many}"`,
      'a\r\n\n',
      '"',
      '"',
    ]
    await assertRead(
      `title\tauthor\tyear\n${rows.join('\tA\t1\n')}\tA\t1\n`,
      titles.map((title) => ({ title, author: 'A', year: 1 })),
    )
  })

  it('lines that end in different ways; those within quotes stay', async () => {
    const ends = fc.array(fc.constantFrom('\r\n', '\n', '\r'), { minLength: 1 })
    const property = fc.asyncProperty(hostileBooks, ends, fc.nat(20), async (books, ends, length) => {
      const row = ({ title, author, year }: NewBook) =>
        [year, title, author].map((value) => `"${`${value}`.replaceAll('"', '""')}"`).join(',')
      const lines = ['year,title,author', ...books.map(row)]
      const text = lines.map((line, i) => line + ends[i % ends.length]).join('')
      await assertRead(text, books, { length: 1 + length })
    })
    await fc.assert(property, { numRuns: 100 })
  })

  it('1000 fields in a row, and many long rows', async () => {
    const others = ','.repeat(997)
    const text = `title,author,year${others}\nT,A,5${others}\n"T",A,5${others}\n`
    await assertRead(text, [bookOf(5), bookOf(5)])
    const long = await readFile(`title,author,year\n${`${'x'.repeat(7000)},A,5\n`.repeat(1000)}`)
    assert.deepEqual([long.error, long.books.length], [undefined, 1000])
    await assertRead(`title,author,year,notes\nT,A,5,"${'x'.repeat(2_000_000)}"\n`, [bookOf(5)])
  })
})

describe('CSV is refused', () => {
  for (const [row, reason] of Object.entries({
    'T,A': `line 2: year: "" ${NO_YEAR}`,
    'T,A,\u009b31m\u202e\u2028\ud83d\udcda': `line 2: year: "\\u{9b}31m\\u{202e}\\u{2028}📚" ${NO_YEAR}`,
    [`T,A,${'9'.repeat(1000)}`]: `line 2: year: "${'9'.repeat(40)}…" is too large for a year`,
    '"T"x,A,5': `line 2: ${MISPLACED}`,
    '"T,A,5\n': `line 2: ${MISPLACED}`,
    '"T\n"x\n,A,5': `line 2: ${MISPLACED}`,
    '"': `line 2: ${MISPLACED}`,
  }))
    it(`with ${JSON.stringify(row).slice(0, 50)}`, async () => {
      await assertRefused(`title,author,year\n${row}\n`, `1 of 1 rows cannot be stored; ${reason}`)
    })

  for (const row of ['T', '1,T', '1,T,A,x', '1,T,A,,x', '1,6" T,A,', '1,6" T,A,6"', '1,T,6" A,'])
    it(`if a row may be a part of one, or has more: ${row}`, async () => {
      const reason = `the number of fields is ${row.split(',').length}, not 3 as in the first line`
      await assertRefused(`Jahr,Titel,Autor\n${row}\n`, `1 of 1 rows cannot be stored; line 2: ${reason}`)
    })

  const TOO_LONG = 'the row is too long; is a closing quotation mark missing?'
  const TOO_WIDE = 'the row has more than 1000 fields'
  const JSON_INSTEAD = /^the file seems to be JSON, not CSV; with one book in each line \(NDJSON\) it is/
  const header = 'title,author,year'
  for (const [what, text, reason] of [
    ['an empty file', '', 'the file is empty; it needs a first line with the column names'],
    ['nothing but a delimiter', 'sep=;', 'the file is empty; it needs a first line with the column names'],
    ['an open quote', `${header}\nT,A,1\n"${'x'.repeat(2_200_000)}`, `line 3: ${TOO_LONG}`],
    ['a first line without an end', 'x'.repeat(2_200_000), `line 1: ${TOO_LONG}`],
    ['1001 fields', `${header}\nT,A,1${','.repeat(998)}\n`, `line 2: ${TOO_WIDE}`],
    ['1001 fields with quotes', `${header}\n"T",A,1${','.repeat(998)}\n`, `line 2: ${TOO_WIDE}`],
    ['endless fields', `${header}\nT,A,1\n${','.repeat(1_000_000)}`, `line 3: ${TOO_WIDE}`],
    ['JSON in one line', `[{"title":"T"${',"x":1'.repeat(500_000)}`, JSON_INSTEAD],
    ['JSON in many lines', '[\n  {\n', JSON_INSTEAD],
    ['an object over several lines', '{\n"title":"T"}\n', JSON_INSTEAD],
  ] as const)
    it(`that is or has ${what}`, async () => void (await assertRefused(text, reason)))

  for (const text of [`${header},"n x\nT,A,1,y`, `${header},"n" x\nT,A,1,y"\nT,A,1,y`, '"'])
    it(`that has a misplaced quote in the first line: ${text}`, async () =>
      void (await assertRefused(`\n${text}`, `line 2: the row ${MISPLACED}; correct the column names`)))

  it('with the lines of its rows, also of bad and empty ones', async () => {
    const rows = ['"a\n\r\nb",A,x\r\n', 'T,A,x\r', '"a\rb",A,x\n', '\r\n', '\n', '"c"d\r\n",A,x\r', 'T,A,x']
    const { report } = await readFile(`title,author,year\r\n${rows.join('')}`)
    assert.deepEqual(
      report.faults.map(({ line }) => line),
      [2, 5, 6, 10, 12],
    )
    const text = 'sep=;\r\n;;\ntitle;author;year\n;;\n\nT;A;x\n'
    await assertRefused(text, `1 of 1 rows cannot be stored; line 6: year: "x" ${NO_YEAR}`)
  })
})

describe('quotation marks in columns that are not used', () => {
  const OTHERS = ['T,A,2,x', 'T,A,3,"""x"" y"', 'T,A,4,"two\r\nlines"']
  for (const row of ['T,A,1,["x y","z"]', 'T,A,1,"x" y, "z', 'T,A,1,"x ""y"" z" ,"u" v,w', 'T,A,1,"'])
    it(`do not join or cut rows: ${row}`, async () => {
      for (const rows of [
        [row, ...OTHERS],
        [...OTHERS, row],
        [...OTHERS, row, ...OTHERS],
      ])
        await assertRead(
          `title,author,year,notes\n${rows.join('\n')}`,
          rows.map((each) => bookOf(Number(each.split(',')[2]))),
        )
    })

  it('before the others do no harm if the number of cells is right', async () => {
    const rows = ['"x" y,T,A,1', '"x,T,A,2', '"x", y" z,T,A,3', '"a ""b""\n\nc",T,A,x']
    const text = `notes,title,author,year\n${rows.join('\n')}`
    const report = await assertRead(text, [bookOf(1), bookOf(2)], { skipFaulty: true })
    assert.deepEqual(
      report.faults.map(({ line, field }) => `${line} ${field}`),
      ['4 null', '5 year'],
    )
    assert.deepEqual(
      report.preview.slice(1, 3).map(([notes]) => notes),
      ['"x" y', '"x'],
    )
  })

  it('are not counted twice in the length of a row', async () => {
    const notes = `"${'x'.repeat(1_200_000)}" ${'y'.repeat(200_000)}`
    await assertRead(`title,author,year,notes\nT,A,5,${notes}\n`, [bookOf(5)])
  })

  it('may stay open however much follows', async () => {
    const rows = Array.from({ length: 100_000 }, (_, year) => `T,A,${year},of some more text\n`)
    const { books, error } = await readFile(`title,author,year,notes\nT,A,0,"x\n${rows.join('')}`)
    assert.deepEqual([error, books.length, books.at(-1)?.year], [undefined, 100_001, 99_999])
  })
})

it('rows that a spreadsheet has emptied are no books, and counted', async () => {
  for (const [text, empty] of [
    ['title;author;year\n;;\nT;A;5\n;;\n;;', 3],
    // Another number of cells.
    ['title,author,year\nT,A,5\n,\n,,,,,\n""\n', 3],
    ['sep=;\n;;\ntitle;author;year\nT;A;5\n;;', 1],
  ] as const) {
    const report = await assertRead(text, [bookOf(5)])
    assert.deepEqual([report.rows, report.empty], [1, empty])
  }
  const { report } = await readFile('title,author,year\n,,5\n"\n')
  assert.deepEqual([report.rows, report.empty], [2, 0])
})
