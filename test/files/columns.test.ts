import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { searchedWords } from '../../src/catalogue/search-words.js'
import { parseColumns } from '../../src/files/column-names.ts'
import { assertRead, assertRefused, readFile } from './read.ts'

const bookOf = (year: number) => ({ title: 'T', author: 'A', year })

describe('exports of other programs', () => {
  for (const [name, source, ...books] of [
    [
      'goodreads.csv',
      'Goodreads',
      'Good Omens: The Nice and Accurate Prophecies of Agnes Nutter, Witch|Terry Pratchett, Neil Gaiman|1990',
      'The Left Hand of Darkness|Ursula K. Le Guin|1969',
      'The Iliad|Homer, Robert Fagles, Bernard Knox|-750',
      'Without a Year|Somebody|0',
      'Of the Edition|Somebody|1987',
    ],
    [
      'librarything.tsv',
      'LibraryThing',
      '"Repent, Harlequin!" Said the Ticktockman|Harlan Ellison|1965',
      'Cien años de soledad|Gabriel García Márquez|1967',
      'Good Omens|Terry Pratchett, Neil Gaiman, S. Somebody, King, Martin, Jr.|1990',
      'Homer|Homer|0',
    ],
    ['calibre.csv', 'Calibre', 'Good Omens|Terry Pratchett, Neil Gaiman|1990', 'The Iliad|Homer|0'],
  ] as const)
    it(source, async () => {
      const file = readFileSync(join(import.meta.dirname, 'exports', name))
      const expected = books.map((book) => {
        const [title = '', author = '', year] = book.split('|')
        return { title, author, year: Number(year) }
      })
      const report = await assertRead(file, expected)
      assert.deepEqual([report.source, report.withoutYear], [source, 1])
    })

  it('are told if they have one row, and have no year in some programs', async () => {
    for (const [source, header, row, author, year] of [
      ['Calibre', 'title,authors,pubdate', 'Solaris,A & B & A,1965-08-01', 'A, B', 1965],
      ['StoryGraph', 'Title,Authors,Contributors,ISBN/UID', 'Solaris,"S. Lem, B",T,1', 'S. Lem, B', 0],
      ['BookWyrm', 'title,author_text,remote_id,start_date', 'Solaris,S. Lem,x,2024-01-02', 'S. Lem', 0],
      ['another program', 'Titolo;Autore;Data di pubblicazione', 'Solaris;S. Lem;2013-xx-xx', 'S. Lem', 2013],
    ] as const) {
      const report = await assertRead(`${header}\n${row}\n`, [{ title: 'Solaris', author, year }])
      assert.deepEqual([report.source, report.withoutYear], [source, year === 0 ? 1 : 0])
    }
  })

  it('are told by their columns, whatever else there is, as is our own file', async () => {
    const own = await assertRead('Titel,title,author,year,Jahr\nU,T,A,1,2\n', [bookOf(1)])
    assert.equal(own.source, 'this service')
    const others = 'Title,Author,Autor,Additional Authors,Year Published,First Published\nT,A,B,,1,2\n'
    await assertRead(others, [bookOf(1)])
  })
})

describe('columns are told by their names', () => {
  for (const header of [
    'Titel;Verfasser;Ersch.-Jahr',
    'Ti\u0301tulo;autor(es);an\u0303o',
    'TITLE,Written by,PubDate',
    'Book-Title;Book-Author;Year-Of-Publication',
    '[Titel];{Autor};[Jahr]',
    '="Title";="Authors";="Original Publication Year"',
    'KİTAP ADI,YAZAR,BASIM YILI',
    '书名;作者;出版年份',
    'اسم الكتاب,المؤلف,سنة النشر',
  ])
    it(header, async () => {
      const row = ['T', 'A', 'c1999'].join(/[,;]/.exec(header)?.[0])
      const report = await assertRead(`\ufeff${header}\r\n${row}\r\n`, [bookOf(1999)])
      assert.equal(report.source, 'another program')
    })

  for (const [header, title, author, year] of [
    ['Title,Author,Year Published,Original Publication Year', 'Title', 'Author', 'Original Publication Year'],
    ['Jahr;Titel;"=""Verfasser""" ', 'Titel', 'Verfasser', 'Jahr'],
    ['Title,Titel,Author', null, 'Author', null],
  ] as const)
    it(`the report names those that were found: ${header}`, async () => {
      const { report } = await readFile(`${header}\n`)
      assert.deepEqual(report.columns, { title, author, year })
    })

  it('of the first edition if its year is known, and of years rather than dates', async () => {
    const rows = ['1987-05-01,1986,1961', '1987-05-01,1986,', '1987-05-01,,', '1987-05-01,never,18th century']
    const years = [1961, 1986, 1987, 1987]
    for (const header of [
      'Titel,Autor,Erscheinungsdatum,Jahr,Jahr der Erstausgabe',
      'Title,Author,Publication Date,Year Published,First Published',
    ])
      await assertRead(`${header}\n${rows.map((row) => `T,A,${row}\n`).join('')}`, years.map(bookOf))
  })

  it('beside others that have similar names', async () => {
    const others =
      'Subtitle,Series,Title Sort,Original Title,Series Title,Author l-f,Author Sort,Additional Authors,Narrator'
    const cells = others.replaceAll(/[^,]+/g, 'x')
    await assertRead(`${others},Title,Author,Published\n${cells},T,A,1999\n`, [bookOf(1999)])
  })

  it('in an export of Zotero, which has an author of the whole book only for chapters', async () => {
    const lines = `Key,Item Type,Publication Year,Author,Title,Publication Title,ISBN,ISSN,DOI,Url,Abstract Note,Date,
      Date Added,Date Modified,Access Date,Pages,Num Pages,Issue,Volume,Number Of Volumes,Journal Abbreviation,
      Short Title,Series,Series Number,Series Text,Series Title,Publisher,Place,Language,Rights,Type,Archive,
      Archive Location,Library Catalog,Call Number,Extra,Notes,File Attachments,Link Attachments,Manual Tags,
      Automatic Tags,Editor,Series Editor,Translator,Contributor,Attorney Agent,Book Author,Cast Member,Commenter,
      Composer,Cosponsor,Counsel,Interviewer,Producer,Recipient,Reviewed Author,Scriptwriter,Words By,Guest,Number,
      Edition,Running Time,Scale,Medium,Artwork Size,Filing Date,Application Number,Assignee,Issuing Authority,
      Country,Meeting Name,Conference Name,Court,References,Reporter,Legal Status,Priority Numbers,
      Programming Language,Version,System,Code,Code Number,Section,Session,Committee,History,Legislative Body`
    const header = lines.replaceAll(/\n\s+/g, '')
    const cells: Record<string, string> = { Title: 'T', Author: 'A', 'Publication Year': '1999' }
    const row = header.replaceAll(/[^,]+/g, (name) => cells[name] ?? 'x')
    const { columns } = await assertRead(`${header}\n${row}\n`, [bookOf(1999)])
    assert.deepEqual(columns, { title: 'Title', author: 'Author', year: 'Publication Year' })
  })

  it('but not guessed, and at most thirty are in the message', async () => {
    for (const header of ['title,author,date read', 'Title,Authors,AR'])
      await assertRefused(`${header}\n`, /and none that is known to be the year/)
    await assertRefused(`${'x,'.repeat(31)}y\n`, /columns (?:"x", ){29}"x" and 2 more, and none/)
    await assertRefused(`${'x,'.repeat(29)}y\n`, /columns (?:"x", ){29}"y", and none/)
    const heading = /or the year; remove any lines above the column names, or name them, or say that /
    await assertRefused('My books,,\nTitle,Author,Publication Year\nT,A,1\n', heading)
  })

  it('are refused if two may be the same field, unless one is named', async () => {
    const text = 'Title,Authors,Publication Date,Release Date\nT,A,2001,1999\n'
    const both =
      'the columns "publication date" and "release date" may both be the year; name the right one with'
    await assertRefused(text, `${both} columns=year="publication date"`)
    await assertRead(text, [bookOf(1999)], { columns: { year: 'Release Date' } })
  })

  it('are refused if one that is read occurs twice, whichever program wrote the file', async () => {
    for (const [header, name, columns] of [
      ['book-catalogue id,title,author,year,author', 'author'],
      ['Titel,Titel,Autor,Jahr', 'titel', { title: 'Titel' }],
    ] as const) {
      const several = `several columns are named "${name}" (case does not matter)`
      await assertRefused(`${header}\n`, `${several}; rename all but the right one`, { columns })
    }
    await assertRead('title,author,shelf,year,Shelf\nT,A,x,5,y\n', [bookOf(5)])
  })

  it('and a file in which they are not clear is not read to its end, but its first five rows are shown', async () => {
    const rows = ['1', '2', '3', '4', '5', '6'].map((name) => [name, `${'x'.repeat(99)}📚`, ''])
    const text = `,,\n${rows.map((cells) => cells.join(',')).join('\n')}`
    const shown = rows.slice(0, 5).map(([name]) => [name, `${'x'.repeat(99)}\ufffd`, ''])
    const long = 'n'.repeat(101)
    const { report } = await readFile(`\n="title",author,year ,${long}\n${text}`)
    assert.deepEqual(report.preview, [['title', 'author', 'year', long], ...shown])
    const endless = `\nTitle,Name,Date\n${text}"${'x'.repeat(3_000_000)}`
    const refused = await assertRefused(endless, /none that is known to be the author or the year/)
    assert.deepEqual(refused.preview, [['Title', 'Name', 'Date'], ...shown])
  })
})

it('a known name has one meaning, and no comma is missing where names go on in the next line', () => {
  const source = readFileSync(join(import.meta.dirname, '../../src/files/column-names.ts'), 'utf8')
  const kinds = new Map<string, string>()
  for (const [, kind = '', , names = ''] of source.matchAll(/^ {4}(\w+):\s+([`'"])(.*?)\2,$/gms))
    for (const name of names.split(/,\s+/)) {
      const key = searchedWords(name).join('')
      assert.ok(!name.includes('\n'), name)
      assert.equal(kinds.get(key) ?? kind, kind, name)
      kinds.set(key, kind)
    }
  assert.ok(kinds.size > 1000)
})

describe('a mapping of columns', () => {
  it('is read whatever names it has', () => {
    const name = fc.string({ minLength: 1, unit: fc.constantFrom(...'a,="\' \n年') })
    const mapping = fc.record(
      { title: name, author: name, year: name },
      { requiredKeys: [], noNullPrototype: true },
    )
    const property = fc.property(mapping, (columns) => {
      const items = Object.entries(columns).map(([field, column]) => {
        const needsQuotes = column.includes(',') || column.startsWith('"')
        return `${field}=${needsQuotes ? `"${column.replaceAll('"', '""')}"` : column}`
      })
      assert.deepEqual(parseColumns(items.join(',')), items.length === 0 ? undefined : columns)
    })
    fc.assert(property)
    assert.deepEqual(parseColumns('year=,title=T'), { year: '', title: 'T' })
  })

  for (const text of [
    ...['title', 'title=', 'title=T,', ',title=T', 'title=T, author=A', 'id=I', 'Title=T', 'title=T,title=U'],
    ...['title=Last, First', 'title="T', 'title="T"x'],
  ])
    it(`is refused if it is ${text}`, () => assert.equal(parseColumns(text), undefined))

  for (const [what, text, columns, title, author, year] of [
    ['some of them', 'Author,Titel,year\nA,"=""T\n U """,1\n', 'title=Titel', 'T U', 'A', 1],
    ['one of our own file', 'title,author,year,s\n T ,A,1,U\n', 'title=s', 'U', 'A', 1],
    ['one column for two fields', 'title,name\nT,1984\n', 'author=name,year=name', 'T', '1984', 1984],
    ['a column of texts as they are', "Titel,author,year\n'=T,A,1\n", 'title=Titel', "'=T", 'A', 1],
    ['no years', 'title,author,,\nT,A,1,2\n', 'year=', 'T', 'A', 0],
  ] as const)
    it(`may name ${what}`, async () =>
      void (await assertRead(text, [{ title, author, year }], { columns: parseColumns(columns) })))

  it('makes unknown years 0, which are counted, and is in the report', async () => {
    const text = Buffer.from('title,author,year,X\nT,A,1,\nT,A,2,3\n\xff,A,3,\n', 'latin1')
    const report = await assertRead(text, [bookOf(0), bookOf(3)], {
      columns: { year: 'x' },
      skipFaulty: true,
    })
    assert.deepEqual([report.withoutYear, report.source], [1, 'this service'])
    assert.deepEqual(report.columns, { title: 'title', author: 'author', year: 'X' })
  })

  it('is refused if the file has no such column, or is not CSV', async () => {
    const columns = { title: 'Titel' }
    const missing = 'there is no column "Titel"; the file has the columns "title", "author", "year"'
    await assertRefused('title,author,year\nT,A,1\n', missing, { columns })
    await assertRefused('{}', 'columns can be named only for CSV', { format: 'ndjson', columns })
  })
})

describe('columns that are numbered, because a file has no header', () => {
  const options = { hasHeader: false, columns: parseColumns('title=2,author=1,year=3') }

  for (const [what, text, ...years] of [
    ['after a byte order mark and a line that declares the delimiter', '\ufeffsep=;\r\nA;T;1,5\r\n', 0],
    ['after empty rows', '\n,,\nA,T,1', 1],
    ['with line breaks in the first row', '"A",T,1,"x\n\ny"\nA,T,2,\n', 1, 2],
  ] as const)
    it(what, async () => {
      const report = await assertRead(text, years.map(bookOf), options)
      const columns = { title: '2', author: '1', year: '3' }
      assert.deepEqual([report.source, report.columns], ['another program', columns])
      assert.deepEqual([report.rows, report.empty], [years.length, 0])
    })

  it('are used even if the first line has known names', async () => {
    const message = /^the file has the columns "1", "2", "3", and none .* columns=title=1,author=2,year=3 or /
    await assertRefused('title,author,year\nT,A,1\n', message, { hasHeader: false })
  })

  it('are as many as the first row has', async () => {
    const { preview } = await assertRefused(
      '\nA,T,1\nA,T\nA,T,2,x\n',
      '1 of 3 rows cannot be stored; line 4: the number of fields is 4, not 3 as in the first line',
      options,
    )
    assert.deepEqual(preview.slice(0, 2), [
      ['1', '2', '3'],
      ['A', 'T', '1'],
    ])
    const missing = 'there is no column "01"; the file has the columns "1", "2", "3"'
    await assertRefused('A,T,1\n', missing, { hasHeader: false, columns: { title: '01' } })
  })

  it('need a CSV file whose first row is whole', async () => {
    const misplaced = 'a quotation mark in the wrong place, or one that is not closed'
    await assertRefused('A,"T" x",1\nA,T,1\n', `line 1: the row has ${misplaced}; correct it`, options)
    await assertRefused('\n,,\n', 'the file is empty', options)
    const only = 'a header can be missing only for CSV'
    await assertRefused('[]', only, { format: 'json', hasHeader: false })
  })
})
