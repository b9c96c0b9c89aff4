import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { isFault, MAX_BOOK_SIZE, NewBook, validateBook } from '../../src/catalogue/book.ts'
import { pageOf } from '../../src/catalogue/page.ts'
import { FORMATS, type Format, formatOfName } from '../../src/files/formats.ts'
import { MAX_FAULTS, MAX_FAULTY } from '../../src/files/import-report.ts'
import { framings } from '../../src/files/write-books.ts'
import { hostileBooks } from './hostile-books.ts'
import { readFile } from './read.ts'

const NO_YEAR = 'is not a year (a whole number such as 1979 or -500)'
const TOO_LARGE = 'is not a year (a whole number within ±9007199254740991)'

const EXAMPLES = join(import.meta.dirname, '../../examples/books.csv')

/** The text of a file with these books, as the pages of a store are written. */
async function write(books: readonly NewBook[], format: Format, pageLength = 3): Promise<string> {
  const { head, between, tail, render } = framings[format]
  const all = books.map(({ title, author, year }, i) => ({ id: i + 1, title, author, year }))
  const pages: string[] = []
  for (let i = 0; i < all.length; i += pageLength) {
    pages.push(render(pageOf(all.slice(i, i + pageLength), { last: undefined, more: false })))
  }
  return head + pages.join(between) + tail
}

for (const format of FORMATS) {
  describe(`books as ${format}`, () => {
    it('are read as they were written, whatever their texts hold, in whatever parts the file arrives', async () => {
      const property = fc.asyncProperty(
        hostileBooks,
        fc.integer({ min: 1, max: 200 }),
        async (books, length) => {
          const { books: read, error } = await readFile(await write(books, format), format, length)
          assert.equal(error, undefined)
          assert.deepEqual(read, books)
        },
      )
      await fc.assert(property, { numRuns: 100 })
    })

    it('are read with the lines of the bad ones, of which a bounded number is kept', async () => {
      const good = { title: 'a\n"b"', author: '', year: 1 }
      const text = await write([good, good], format)
      const bad = format === 'csv' ? '9,T,A,12.5\r\n' : '{"title":"T","author":"A","year":12.5}\n'
      const { report, error } = await readFile(text + bad.repeat(1000), format)
      const line = format === 'csv' ? 6 : 3
      assert.equal(report.rows, 1002)
      assert.equal(report.faulty, 1000)
      assert.equal(report.faults.length, MAX_FAULTS)
      const reason = `${format === 'csv' ? '"12.5"' : '12.5'} is not a year (a whole number such as 1979 or -500)`
      assert.deepEqual(report.faults[0], { line, field: 'year', code: 'wrong_type', reason })
      assert.deepEqual(report.faults[99], { line: line + 99, field: 'year', code: 'wrong_type', reason })
      assert.equal(error, `1000 of 1002 rows cannot be stored; line ${line}: year: ${reason}`)
    })

    it('are no longer read when very many were bad', async () => {
      const good = { title: 'T', author: 'A', year: 1 }
      const { report, error } = await readFile(
        `${await write([good], format)}${'x\r\n'.repeat(20_000)}`,
        format,
      )
      assert.deepEqual([report.rows, report.faulty], [MAX_FAULTY + 1, MAX_FAULTY])
      assert.match(error ?? '', /^10000 of 10001 rows cannot be stored; line [23]: /)
    })

    it('are read without the bad ones if these are skipped, and not when very many are bad', async () => {
      const good = { title: 'T', author: 'A', year: 1 }
      const [text, bad] = [await write([good], format), 'x\r\n']
      const row = text.slice(format === 'csv' ? text.indexOf('\n') + 1 : 0)
      const read = (file: string) => readFile(file, format, 100, { skipFaulty: true })
      const some = await read(`${text}${bad}${row.repeat(500)}${bad.repeat(9000)}${row}`)
      assert.deepEqual([some.error, some.books], [undefined, Array(502).fill(good)])
      assert.deepEqual(
        [some.report.rows, some.report.faulty, some.report.faults.length],
        [9503, 9001, MAX_FAULTS],
      )
      const many = await read(text + bad.repeat(20_000))
      assert.match(many.error ?? '', /^10000 of 10001 rows cannot be stored; line [23]: /)
    })

    for (const [what, unit] of Object.entries({
      ASCII: 'x',
      emoji: '🂡',
      quotes: '"',
      backslashes: '\\',
      'short escapes': '\b\t\n\f\r',
      controls: '\u0001\v',
    })) {
      it(`are read up to the size that POST /book takes: ${what}`, async () => {
        const frame = JSON.stringify({ title: '', author: '', year: 1 }).length
        const size = Buffer.byteLength(JSON.stringify(unit)) - 2
        const count = Math.floor((MAX_BOOK_SIZE - frame) / size)
        const author = 'A'.repeat(MAX_BOOK_SIZE - frame - count * size)
        const longest = { title: unit.repeat(count), author, year: 1 }
        const { books, error } = await readFile(await write([longest], format), format)
        assert.equal(error, undefined)
        assert.deepEqual(books, [longest])
        const longer = { ...longest, author: `${author}A` }
        const { books: none, report } = await readFile(await write([longer], format), format)
        assert.deepEqual(none, [])
        const [fault, ...others] = report.faults
        assert.deepEqual([fault?.line, fault?.field, others], [format === 'csv' ? 2 : 1, 'title', []])
        assert.match(
          fault?.reason ?? '',
          /^".{40,250}…" is too long: as JSON, a book has at most 1048576 bytes$/,
        )
      })
    }
  })
}

describe('our own CSV', () => {
  it('is what RFC 4180 says, with formulas and spaces as they are', async () => {
    const books = [
      { title: '=1+1', author: ' A ', year: -5 },
      { title: 'a,b "c"', author: 'x\r\ny', year: 0 },
    ]
    assert.equal(
      await write(books, 'csv'),
      'id,title,author,year\r\n1,=1+1, A ,-5\r\n2,"a,b ""c""","x\r\ny",0\r\n',
    )
  })

  for (const [what, text] of Object.entries({
    'LF at the ends of lines': 'id,title,author,year\n1,T,A,5\n',
    'no end of the last line': 'id,title,author,year\r\n1,T,A,5',
    'a byte order mark, other columns, another order': '\ufeff"Year",shelf,Author,Title\r\n5,x,A,T\r\n',
    'empty lines': 'title,author,year\n\nT,A,5\n\n\n',
    tabs: 'title\tauthor\tyear\nT\t"A"\t5\n',
    'as many semicolons as commas': 'title,author,year,a;b;c;d\nT,A,5,\n',
    semicolons: 'title;author;year\r\nT;"A";5\r\n',
    'semicolons, and commas in quoted names': '"title";"author";"a,b,c,d";"year"\nT;A;"x;,";5\n',
    'semicolons that Excel declares': 'sep=;\r\ntitle;author;year\r\nT;A;5\r\n',
    'a comma that Excel declares, in quotes': '"SEP=,"\rtitle,author,year,a;b;c;d;e\rT,A,5,\r',
    'tabs that Excel declares': 'sep=\t\ntitle\tauthor\tyear\nT\tA\t5\n',
    'another character that Excel would take': 'sep=|\ntitle|author|year\nT|A|5',
    'everything in quotes': '"title","author","year"\r\n"T","A","5"\r\n',
    'quotes up to its end': 'title,author,year\nT,A,"5"',
    'a column twice that is not used': 'title,author,shelf,year,Shelf\nT,A,x,5,y\n',
    'another column for a field': 'title,Titel,author,year\nT,x,A,5\n',
  })) {
    it(`is read with ${what}`, async () => {
      const { books, error } = await readFile(text, 'csv')
      assert.equal(error, undefined)
      assert.deepEqual(books, [{ title: 'T', author: 'A', year: 5 }])
    })
  }

  it('counts the line in which Excel declares the delimiter', async () => {
    for (const length of [1, 2, 1000]) {
      for (const end of ['\r\n', '\n']) {
        const text = ['sep=;', 'title;author;year', 'T;A;x', ''].join(end)
        const { error } = await readFile(text, 'csv', length)
        assert.equal(error, `1 of 1 rows cannot be stored; line 3: year: "x" ${NO_YEAR}`)
      }
    }
  })

  for (const [what, start, reason] of [
    [
      '.xlsx',
      'PK\x03\x04\x14\0',
      /^the file is a spreadsheet \(\.xlsx, \.ods\) .*; save it as CSV in UTF-8$/,
    ],
    [
      '.xls',
      '\xd0\xcf\x11\xe0\xa1',
      /^the file is a spreadsheet of an old Excel .*; save it as CSV in UTF-8$/,
    ],
    ['gzip', '\x1f\x8b\x08', /^the file is compressed with gzip; unpack it first$/],
    [
      'a JSON array',
      ' [ {"title":"T",\n',
      /^the file seems to be JSON, not CSV; with one book in each line \(NDJSON\) it is read if its name ends with .ndjson/,
    ],
    ['a JSON array in many lines', '[\n  {\n', /^the file seems to be JSON/],
    ['an empty JSON array', '[]', /^the file seems to be JSON/],
    ['NDJSON', '{"title":"T","author":"A"}\n', /^the file seems to be JSON/],
    ['a JSON array in one line', `[{"title":"T"${',"x":1'.repeat(500_000)}`, /^the file seems to be JSON/],
  ] as const) {
    it(`is not taken for ${what}, which is named`, async () => {
      for (const length of [1, 3, 64 * 1024].slice(start.length > 1000 ? 2 : 0)) {
        assert.match((await readFile(Buffer.from(start, 'latin1'), 'csv', length)).error ?? '', reason)
      }
    })
  }

  it('is read in UTF-16 with a byte order mark', async () => {
    const { books } = await readFile(Buffer.from('\ufefftitle,author,year\nТ,А,5\n', 'utf16le'), 'csv', 1)
    assert.deepEqual(books, [{ title: 'Т', author: 'А', year: 5 }])
  })

  for (const [row, reason] of Object.entries({
    T: 'line 2: the number of fields is 1, not 3 as in the first line',
    'T,A': `line 2: year: "" ${NO_YEAR}`,
    'T,A,5,6': 'line 2: the number of fields is 4, not 3 as in the first line',
    '"T"x,A,5': 'line 2: has a quotation mark in the wrong place, or one that is not closed',
    '"T,A,5\n': 'line 2: has a quotation mark in the wrong place, or one that is not closed',
    'T,A,': `line 2: year: "" ${NO_YEAR}`,
    'T,A,c19x9': `line 2: year: "c19x9" ${NO_YEAR}`,
    'T,A,\u009b31m\u202e\ud83d\udcda': `line 2: year: "\\u{9b}31m\\u{202e}📚" ${NO_YEAR}`,
    [`T,A,${'9'.repeat(1000)}`]: `line 2: year: "${'9'.repeat(40)}…" ${TOO_LARGE}`,
    'T,A,9007199254740992': `line 2: year: "9007199254740992" ${TOO_LARGE}`,
    'T,A\0,5': 'line 2: author: "A\\u0000" contains a NUL character',
    '"T\n"x\n,A,5': 'line 2: has a quotation mark in the wrong place, or one that is not closed',
    '"': 'line 2: has a quotation mark in the wrong place, or one that is not closed',
  })) {
    it(`refuses ${JSON.stringify(row)}: ${reason}`, async () => {
      const { error } = await readFile(`title,author,year\n${row}\n`, 'csv')
      assert.equal(error, `1 of 1 rows cannot be stored; ${reason}`)
    })
  }

  it('refuses a header that it does not know, with the columns found and those needed', async () => {
    const { error } = await readFile('name,writer,year\nT,A,5\n', 'csv')
    assert.equal(
      error,
      'the file has the columns "name", "writer", "year", and none that is known to be the title; name it with ' +
        'columns=title=Titel',
    )
    const many = await readFile(`${'x,'.repeat(31)}y\n`, 'csv')
    assert.match(many.error ?? '', /columns (?:"x", ){29}"x" and 2 more, and none/)
  })

  it('refuses an empty file, and a quote that is never closed before it has read all of a large one', async () => {
    assert.match((await readFile('', 'csv')).error ?? '', /^the file is empty/)
    const { error } = await readFile(`title,author,year\nT,A,1\n"${'x'.repeat(6_000_000)}`, 'csv')
    assert.equal(error, 'line 3: the row is too long; is a closing quotation mark missing?')
  })

  for (const [what, text, book] of [
    ['a quote within a field', '6" nails,"A ""B""",1', { title: '6" nails', author: 'A "B"', year: 1 }],
    ['white space after a closing quote', '"T" ,"A"\v,"1"\t', { title: 'T', author: 'A', year: 1 }],
    ['a line of an empty field in quotes', '""\nT,A,1', { title: 'T', author: 'A', year: 1 }],
  ] as const) {
    it(`is read with ${what}`, async () => {
      for (const length of [1, 2, 3, 1000]) {
        const { error, books } = await readFile(`title,author,year\n${text}\n`, 'csv', length)
        assert.deepEqual([error, books], [undefined, [book]])
      }
    })
  }

  it('with tabs, has quotes around a field only if all those within are doubled', async () => {
    const many = '""'.repeat(20_000)
    const rows = ['"a""b"', '"a"b"', '"a"""b"', `"${many}"`, `"${many}x"${many}"`]
    const { books } = await readFile(`title\tauthor\tyear\n${rows.join('\tA\t1\n')}\tA\t1\n`, 'csv')
    const titles = ['a"b', '"a"b"', '"a"""b"', '"'.repeat(20_000), `"${many}x"${many}"`]
    assert.deepEqual(
      books.map(({ title }) => title),
      titles,
    )
  })

  it('may have lines that end in different ways; those within quotes stay', async () => {
    const ends = fc.array(fc.constantFrom('\r\n', '\n', '\r'), { minLength: 1 })
    const property = fc.asyncProperty(hostileBooks, ends, fc.nat(20), async (books, ends, length) => {
      const row = ({ title, author, year }: NewBook) =>
        [year, title, author].map((value) => `"${`${value}`.replaceAll('"', '""')}"`).join(',')
      const lines = ['year,title,author', ...books.map(row)]
      const text = lines.map((line, i) => line + ends[i % ends.length]).join('')
      const { books: read, error } = await readFile(text, 'csv', 1 + length)
      assert.deepEqual([error, read], [undefined, books])
    })
    await fc.assert(property, { numRuns: 100 })
    for (const [text, author] of [
      ['title,year,author\r\nT,1,A\n', 'A'],
      ['title,year,author\nT,1,A\r\n', 'A'],
      ['title,year,author\rT,1,A\r', 'A'],
      ['title\tyear\tauthor\r\nT\t1\tA\n', 'A'],
      ['title,year,author\rT,1,"\rA\n\r"\r', '\rA\n\r'],
    ] as const) {
      for (const length of [1, 2, 3, 1000]) {
        const { books, error } = await readFile(text, 'csv', length)
        assert.deepEqual([error, books], [undefined, [{ title: 'T', author, year: 1 }]])
      }
    }
  })

  it('counts the lines of every row, also of a bad one', async () => {
    const rows = ['"a\n\r\nb",A,x\r\n', 'T,A,x\r', '"a\rb",A,x\n', '\r\n', '\n', '"c"d\r\n",A,x\r', 'T,A,x']
    const text = `title,author,year\r\n${rows.join('')}`
    for (const length of [1, 2, 3, 1000]) {
      const { report } = await readFile(text, 'csv', length)
      assert.deepEqual(
        report.faults.map(({ line }) => line),
        [2, 5, 6, 10, 12],
      )
    }
  })

  it('may have 1000 fields in a row, and many long rows', async () => {
    const others = ','.repeat(997)
    const wide = await readFile(`title,author,year${others}\nT,A,5${others}\n"T",A,5${others}\n`, 'csv')
    assert.deepEqual([wide.error, wide.books.length], [undefined, 2])
    const long = await readFile(`title,author,year\n${`${'x'.repeat(7000)},A,5\n`.repeat(1000)}`, 'csv')
    assert.deepEqual([long.error, long.books.length], [undefined, 1000])
  })

  it('refuses a row of more fields than any program exports, and a first line that does not end', async () => {
    for (const row of [`T,A,1${','.repeat(998)}`, `"T",A,1${','.repeat(998)}`]) {
      const { error } = await readFile(`title,author,year\n${row}\n`, 'csv')
      assert.equal(error, 'line 2: the row has more than 1000 fields')
    }
    const { error } = await readFile(`title,author,year\nT,A,1\n${','.repeat(1_000_000)}`, 'csv')
    assert.equal(error, 'line 3: the row has more than 1000 fields')
    assert.equal(
      (await readFile('x'.repeat(3_000_000), 'csv')).error,
      'line 1: the row is too long; is a closing quotation mark missing?',
    )
  })

  it('has the examples', async () => {
    const { books, error } = await readFile(readFileSync(EXAMPLES), 'csv')
    assert.equal(error, undefined)
    assert.ok(books.length > 100 && books.some(({ year }) => year < 0))
    assert.equal(await write(books, 'csv'), readFileSync(EXAMPLES, 'utf8'))
  })
})

describe('rows with another number of cells than the first line', () => {
  for (const [what, text, years] of [
    ['unused ones left out', 'Title,Author,Year,Notes,ISBN\nT,A,1,n,9\nT,A,2\nT,A,3,n\n', [1, 2, 3]],
    ['one left out after a stray quote', 'Note,Title,Author,Year,ISBN\nx" y,T,A,1,9\nn,T,A,2\n', [1, 2]],
    ['empty ones added', 'title;author;year\nT;A;1;\nT;A;2;;\nT;A;3; ; \n', [1, 2, 3]],
    ['empty ones added to the first line', 'title,author,year,,\nT,A,1\nT,A,2,,,\n', [1, 2]],
    ['the year left out, of another program', 'Titel\tAutor\tJahr\nT\tA\t1\nT\tA\n', [1, 0]],
    ['those of Goodreads', 'Title,Author,Year Published,Additional Authors\nT,A,1\nT,A\n', [1, 0]],
  ] as const) {
    it(`are read: ${what}`, async () => {
      const { books, error } = await readFile(text, 'csv', 3)
      const expected = years.map((year) => ({ title: 'T', author: 'A', year }))
      assert.deepEqual([error, books], [undefined, expected])
    })
  }

  for (const row of ['T', '1,T', '1,T,A,x', '1,T,A,,x', '1,6" T,A,']) {
    it(`are refused if they may be parts of rows, or have more: ${row}`, async () => {
      const { error } = await readFile(`Jahr,Titel,Autor\n${row}\n`, 'csv')
      const reason = `the number of fields is ${row.split(',').length}, not 3 as in the first line`
      assert.equal(error, `1 of 1 rows cannot be stored; line 2: ${reason}`)
    })
  }
})

describe('quotation marks in columns that are not used', () => {
  const OTHERS = ['T,A,2,x', 'T,A,3,"""x"" y"', 'T,A,4,"two\r\nlines"']
  for (const row of [
    'T,A,1,["x y","z"]',
    'T,A,1,["x", "y", "z"]',
    'T,A,1,"x" y',
    'T,A,1,"x" y, "z',
    'T,A,1,"x ""y"" z" ,"u" v,w',
    'T,A,1,"open',
    'T,A,1,"open "" too',
    'T,A,1,"',
    'T,A,1,x"',
  ]) {
    it(`do not join or cut rows: ${row}`, async () => {
      for (const rows of [
        [row, ...OTHERS],
        [...OTHERS, row],
        [...OTHERS, row, ...OTHERS],
      ])
        for (const length of [1, 2, 3, 7, 1000]) {
          const text = `title,author,year,notes\n${rows.join('\n')}`
          const { books, error } = await readFile(text, 'csv', length)
          const years = rows.map((each) => Number(each.split(',')[2]))
          assert.deepEqual([error, books.map(({ year }) => year)], [undefined, years])
          assert.ok(books.every(({ title, author }) => title === 'T' && author === 'A'))
        }
    })
  }

  it('before the others do no harm if the number of cells is right', async () => {
    const rows = ['"x" y,T,A,1', '"x,T,A,2', '"x", y" z,T,A,3', '"a ""b""\n\nc",T,A,x']
    const text = `notes,title,author,year\n${rows.join('\n')}`
    for (const length of [1, 2, 3, 1000]) {
      const { books, report } = await readFile(text, 'csv', length, { skipFaulty: true })
      const years = books.map(({ year }) => year)
      const faults = report.faults.map(({ line, field }) => `${line} ${field}`)
      assert.deepEqual(
        [years, faults],
        [
          [1, 2],
          ['4 null', '5 year'],
        ],
      )
    }
  })

  it('may stay open however much follows', async () => {
    const rows = Array.from({ length: 100_000 }, (_, year) => `T,A,${year},of some more text\n`)
    const { books, error } = await readFile(`title,author,year,notes\nT,A,0,"x\n${rows.join('')}`, 'csv')
    assert.deepEqual([error, books.length, books.at(-1)?.year], [undefined, 100_001, 99_999])
  })
})

describe('rows that a spreadsheet has emptied', () => {
  const book = { title: 'T', author: 'A', year: 5 }
  for (const [what, text, empty, columns] of [
    ['our own columns', 'title;author;year\n;;\nT;A;5\n;;\n;;', 3],
    ['columns of another program', 'Titel,Autor,Jahr,Regal\n,,,\nT,A,5,x\n,,,\n', 2],
    ['those of a known program', 'title\tauthors\tpubdate\nT\tA\t0005\n\t\t\n', 1],
    ['columns that are named', 'a,b\nT,A\n,\n', 1, { title: 'a', author: 'b', year: '' }],
    ['blanks', 'title,author,year\n" ",\u00a0,\t\nT,A,5\n   \n', 2],
    ['another number of cells', 'title,author,year\nT,A,5\n,\n,,,,,\n""\n', 3],
    ['lines without anything', 'title,author,year\r\n\r\nT,A,5\r\n\r\n', 2],
    ['empty rows before the first line', '\r\n\n;;\ntitle;author;year\nT;A;5\n', 0],
    ['a line that declares the delimiter', 'sep=;\n;;\ntitle;author;year\nT;A;5\n;;', 1],
  ] as const) {
    it(`are no books, and counted: ${what}`, async () => {
      for (const length of [1, 2, 1000]) {
        const { books, error, report } = await readFile(text, 'csv', length, { columns })
        assert.deepEqual([error, books], [undefined, [{ ...book, year: columns === undefined ? 5 : 0 }]])
        assert.deepEqual([report.rows, report.empty], [1, empty])
      }
    })
  }

  it('count as lines in the faults of others', async () => {
    const { error } = await readFile('\n;;\ntitle;author;year\n;;\n\nT;A;x\n', 'csv')
    assert.equal(error, `1 of 1 rows cannot be stored; line 6: year: "x" ${NO_YEAR}`)
  })

  it('are not books with empty texts, nor rows that have anything else', async () => {
    const nothing = { title: '', author: '', year: 0 }
    for (const format of FORMATS) {
      const { books, report } = await readFile(await write([nothing], format), format)
      assert.deepEqual([books, report.empty], [[nothing], 0])
    }
    const { report } = await readFile('title,author,year\n,,5\n"\n', 'csv')
    assert.deepEqual([report.rows, report.empty, report.faulty], [2, 0, 1])
    assert.equal((await readFile('{}\n', 'ndjson')).report.faulty, 1)
  })
})

describe('NDJSON', () => {
  for (const [line, reason] of Object.entries({
    '{"title":': '"{\\"title\\":" is not JSON',
    '{"title":1}{': '"{\\"title\\":1}{" is not JSON',
    'title,author,year': '"title,author,year" is not a JSON object',
    '[{"title":"T"':
      'is a JSON array; a file of one array is read if its name ends with .json, or its type is application/json',
    null: '"null" is not a JSON object',
    '{"author":"A","year":1}': 'title: is missing',
    '{"title":1,"author":"A","year":1}': 'title: 1 is not text',
    '{"title":{"a":1},"author":"A","year":1}': 'title: an object is not text',
    '{"title":["a"],"author":"A","year":1}': 'title: an array is not text',
    '{"title":"\\ud800","author":"A","year":1}': 'title: "�" is not well-formed Unicode',
    '{"title":"T","author":null,"year":1}': 'author: null is not text',
    '{"title":"T","author":"A","year":"1"}': `year: "1" ${NO_YEAR}`,
  })) {
    it(`refuses ${line}: ${reason}`, async () => {
      const { error } = await readFile(`\n${line}\n`, 'ndjson')
      assert.equal(error, `1 of 1 rows cannot be stored; line 2: ${reason}`)
    })
  }
})

it('NDJSON may have a byte order mark, blank lines and carriage returns', async () => {
  const book = { title: 'T', author: 'A', year: 1 }
  const { books, error, report } = await readFile(`\ufeff${JSON.stringify(book)}\r\n \t\r\n\n`, 'ndjson')
  assert.deepEqual([error, books, report.empty], [undefined, [book], 2])
})

it('NDJSON is refused if a line has much beside its texts, or is longer than a book may be', async () => {
  const text = JSON.stringify({ title: '\\"[', author: '[],"'.repeat(100_000), year: 1 })
  assert.equal((await readFile(text, 'ndjson')).error, undefined)
  const values = `{"title":"T","author":"A","year":1,"x":[${'[],'.repeat(100_000)}1]}`
  assert.match(
    (await readFile(values, 'ndjson')).error ?? '',
    /line 1: has more than 16384 characters outside/,
  )
  const { error } = await readFile(`\n{"title":"${'x'.repeat(2_000_000)}`, 'ndjson')
  assert.equal(error, 'line 2 is too long')
})

describe('bytes that are no character', () => {
  const OTHER =
    'the file seems to be in another encoding, such as Windows-1252 or ISO 8859-1; save it as UTF-8, or name its encoding'
  const latin1 = (text: string) => Buffer.from(text, 'latin1')
  const utf8 = (text: string) => Buffer.from(text).toString('latin1')
  const book = { title: 'T', author: 'A', year: 1 }

  it('do no harm in columns that are not used, wherever the file is cut', async () => {
    for (const stray of [
      '\xff',
      '\xc3',
      '\xe2\x80',
      '\xf0\x9f\x93',
      '\xed\xa0\x80',
      '\xc0\xaf',
      '\x80\x80\x80\x80\x80',
    ]) {
      const title = 'Ü“📚'
      const rows = [`${stray}\t${utf8(title)}\tA\t\t1`, `\t${utf8(title)}\tA\t${stray}\t2`]
      const file = latin1(`Review${stray}\tTitle\tPrimary Author\tTags\tDate\n${rows.join('\n')}`)
      const lines = latin1(`{"x":"${stray}","title":"T","author":"A","year":1,"${stray}":1}\n`)
      for (const length of [1, 2, 3, 4, 5, 1000]) {
        const { books, error } = await readFile(file, 'csv', length)
        assert.deepEqual([error, books.map((each) => each.title)], [undefined, [title, title]])
        assert.deepEqual((await readFile(lines, 'ndjson', length)).books, [book])
      }
    }
  })

  it('are refused in the others, and only they are', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }).map(utf8),
      fc.string({ unit: fc.nat(255).map((n) => String.fromCharCode(n)) }),
    )
    const cell = fc
      .array(piece)
      .map((pieces) => latin1(pieces.join('').replaceAll('"', '').replaceAll('\0', '')))
    await fc.assert(
      fc.asyncProperty(cell, fc.integer({ min: 1, max: 9 }), async (title, length) => {
        const file = Buffer.concat([latin1('title,author,year\n"'), title, latin1('",A,1\n')])
        const { books, error } = await readFile(file, 'csv', length)
        if (isUtf8(title))
          assert.deepEqual([error, books], [undefined, [{ title: title.toString(), author: 'A', year: 1 }]])
        else assert.match(error ?? '', /^1 of 1 rows cannot be stored; line 2: title: ".*" is not in UTF-8; /)
      }),
      { numRuns: 200 },
    )
  })

  for (const [format, text, reason] of [
    [
      'csv',
      'title,author,year\nT,A,1\nCien a\xf1os,A,1',
      `line 3: title: "Cien a�os" is not in UTF-8; ${OTHER}`,
    ],
    [
      'csv',
      'title,author,year\nT,Garc\xc3\xada M\xe1rquez,1',
      'line 2: author: "García M�rquez" is not in UTF-8; correct this text',
    ],
    ['csv', 'title,author,year\nT,A,1\xa0', `line 2: year: "1�" is not in UTF-8; ${OTHER}`],
    ['csv', 'Title,Author,Year Published\nT,A,1999\xa0', `line 2: year: "1999�" is not in UTF-8; ${OTHER}`],
    [
      'csv',
      'title,authors,pubdate\nT,A,0101-01-01\xa0',
      `line 2: year: "0101-01-01�" is not in UTF-8; ${OTHER}`,
    ],
    [
      'csv',
      'Title,Author,Year Published,Additional Authors\nT,A,1,B\xe9',
      `line 2: author: "A, B�" is not in UTF-8; ${OTHER}`,
    ],
    [
      'csv',
      `title,author,year\n${'x'.repeat(5000)}\xc3,A,1`,
      `line 2: title: "…xxxxxxxxxxxxxxxxxxxx�" is not in UTF-8; ${OTHER}`,
    ],
    ['ndjson', '{"title":"\xc4","author":"A","year":1}', `line 1: title: "�" is not in UTF-8; ${OTHER}`],
    [
      'ndjson',
      '\n{"title":"\\ud83d\xff","author":"A","year":1}',
      `line 2: title: "��" is not in UTF-8; correct this text`,
    ],
    ['ndjson', '\xff', `line 1: "�" is not in UTF-8; ${OTHER}`],
    ['ndjson', '{\xff}', `line 1: "{�}" is not in UTF-8; ${OTHER}`],
  ] as const) {
    it(`are in the message: ${reason.slice(0, 60)}`, async () => {
      for (const length of [1, 2, 3, 1000]) {
        const { books, error } = await readFile(latin1(text), format, length)
        assert.equal(error, `1 of ${books.length + 1} rows cannot be stored; ${reason}`)
      }
    })
  }

  it('are not what a file in UTF-8 has instead of them already, until there are others', async () => {
    const row = `${utf8('Garc\ufffda')},A,1\n`
    const header = 'title,author,year,x\n'
    for (const length of [1, 2, 3, 1000]) {
      const { books, error } = await readFile(latin1(header + row), 'csv', length)
      assert.deepEqual([error, books[0]?.title], [undefined, 'Garc\ufffda'])
      const bad = await readFile(latin1(`${header}T,A,1,\xff\n${row}`), 'csv', length)
      assert.match(bad.error ?? '', /line 3: title: "Garc�a" is not in UTF-8/)
    }
  })

  it('are few in UTF-16: half a character, in a field that is used or not, or at the end', async () => {
    for (const mark of ['\ufeff', '']) {
      for (const isBig of [false, true]) {
        const encode = (text: string) => {
          const units = Buffer.from(mark + text, 'utf16le')
          return isBig ? units.swap16() : units
        }
        for (const length of [1, 2, 3, 5, 1000]) {
          const text = 'title,author,year,x\n📚,Ü,1,\ud83d\n'
          const { books, error } = await readFile(encode(text), 'csv', length)
          assert.deepEqual([error, books], [undefined, [{ title: '📚', author: 'Ü', year: 1 }]])
          const bad = await readFile(encode('title,author,year\n\ud83d,A,1'), 'csv', length)
          assert.match(bad.error ?? '', /line 2: title: "�" is not in UTF-16; /)
          const odd = await readFile(
            Buffer.concat([encode('title,year,author\nT,1,A'), latin1('B')]),
            'csv',
            length,
          )
          assert.match(odd.error ?? '', /line 2: author: "A�" is not in UTF-16; /)
        }
      }
    }
  })
})

describe('exports of other programs', () => {
  const read = async (name: string) =>
    readFile(readFileSync(join(import.meta.dirname, 'exports', name)), 'csv', 7)

  it('are read: Goodreads', async () => {
    const { books, report, error } = await read('goodreads.csv')
    assert.equal(error, undefined)
    assert.equal(report.source, 'Goodreads')
    assert.equal(report.withoutYear, 1)
    assert.deepEqual(books, [
      {
        title: 'Good Omens: The Nice and Accurate Prophecies of Agnes Nutter, Witch',
        author: 'Terry Pratchett, Neil Gaiman',
        year: 1990,
      },
      { title: 'The Left Hand of Darkness', author: 'Ursula K. Le Guin', year: 1969 },
      { title: 'The Iliad', author: 'Homer, Robert Fagles, Bernard Knox', year: -750 },
      { title: 'Without a Year', author: 'Somebody', year: 0 },
      { title: 'Of the Edition', author: 'Somebody', year: 1987 },
    ])
  })

  it('are read: LibraryThing', async () => {
    const { books, report, error } = await read('librarything.tsv')
    assert.equal(error, undefined)
    assert.equal(report.source, 'LibraryThing')
    assert.deepEqual(books, [
      { title: '"Repent, Harlequin!" Said the Ticktockman', author: 'Harlan Ellison', year: 1965 },
      { title: 'Cien años de soledad', author: 'Gabriel García Márquez', year: 1967 },
      { title: 'Good Omens', author: 'Terry Pratchett, Neil Gaiman, S. Somebody', year: 1990 },
      { title: 'Homer', author: 'Homer', year: 0 },
    ])
  })

  it('are read: Calibre', async () => {
    const { books, report, error } = await read('calibre.csv')
    assert.equal(error, undefined)
    assert.equal(report.source, 'Calibre')
    assert.deepEqual(books, [
      { title: 'Good Omens', author: 'Terry Pratchett, Neil Gaiman', year: 1990 },
      { title: 'The Iliad', author: 'Homer', year: 0 },
    ])
  })

  it('have each author once', async () => {
    const { books } = await readFile('title,authors,pubdate\nT,A & B & A,1965-08-01\n', 'csv')
    assert.equal(books[0]?.author, 'A, B')
  })
})

describe('the fields of a row', () => {
  it('are accepted exactly where POST /book accepts them', () => {
    const matchesSchema = new Ajv().compile(NewBook)
    const value = fc.oneof(
      fc.string({ unit: fc.integer({ max: 0xffff }).map((n) => String.fromCharCode(n)) }),
      fc.double(),
      fc.maxSafeInteger(),
      fc.constantFrom(undefined, null, true, 2 ** 53, -(2 ** 53), [], {}, '\0', '\ud800'),
    ) // prettier-ignore
    fc.assert(
      fc.property(value, value, fc.oneof(value, fc.maxSafeInteger()), (title, author, year) => {
        const fields = { title, author, year }
        assert.equal(!isFault(validateBook(fields)), matchesSchema(fields))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('the format of a file', () => {
  it('is told by its name', () => {
    for (const name of ['a.csv', 'B.CSV', 'x.tsv', 'x.txt']) assert.equal(formatOfName(name), 'csv')
    for (const name of ['a.ndjson', 'a.jsonl']) assert.equal(formatOfName(name), 'ndjson')
    for (const name of ['a.json', 'B.JSON']) assert.equal(formatOfName(name), 'json')
    for (const name of ['a', 'csv', 'json', 'a.csv.gz']) assert.equal(formatOfName(name), undefined)
  })
})

it('books of long texts are read, however many there are', async () => {
  const books = Array.from({ length: 10 }, (_, i) => ({
    title: `${i}`.repeat(900_000),
    author: 'A',
    year: i,
  }))
  for (const format of FORMATS) {
    const { books: read, error } = await readFile(await write(books, format), format)
    assert.equal(error, undefined)
    assert.deepEqual(
      read.map(({ title }) => `${title[0]} ${title.length}`),
      books.map(({ title }) => `${title[0]} ${title.length}`),
    )
  }
})
