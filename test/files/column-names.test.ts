import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readFile } from './read.ts'

/** The first lines that programs write, with a row of theirs. */
const EXPORTS = {
  StoryGraph: [
    'Title,Authors,Contributors,ISBN/UID,Format,Read Status,Date Added,Last Date Read,Dates Read,Read Count,Star Rating',
    'Solaris,"Stanisław Lem, Steve Cox",Tom (Narrator),9780156027601,digital,read,2024/01/01,2024/01/15,,1,4.75',
    { title: 'Solaris', author: 'Stanisław Lem, Steve Cox', year: 0 },
  ],
  BookWyrm: [
    'title,author_text,remote_id,openlibrary_key,isbn_10,isbn_13,start_date,finish_date,rating,review_name,shelf',
    'Solaris,Stanisław Lem,https://example.test/book/1,,0156027607,9780156027601,2024-01-02,2024-02-03,4,,read',
    { title: 'Solaris', author: 'Stanisław Lem', year: 0 },
  ],
  Openreads: [
    'title,subtitle,author,description,status,favourite,deleted,rating,pages,publication_year,isbn,olid,date_added',
    'Solaris,,Stanisław Lem,"1961\n",finished,false,false,5,204,1970,9780156027601,OL2M,2024-03-01T13:01:12.937',
    { title: 'Solaris', author: 'Stanisław Lem', year: 1970 },
  ],
  'Open Library': [
    'Work ID,Title,Authors,First Publish Year,Edition ID,Edition Count,Bookshelf,My Ratings,Subjects',
    'OL1W,Solaris,Stanisław Lem,1961,OL2M,12,Already Read,5,Science fiction',
    { title: 'Solaris', author: 'Stanisław Lem', year: 1961 },
  ],
  Libib: [
    'item_type,title,creators,first_name,last_name,collection,ean_isbn13,publisher,publish_date,added',
    'book,Solaris,Stanisław Lem,Stanisław,Lem,Library,9780156027601,Harcourt,1987-11-25,2024-01-02',
    { title: 'Solaris', author: 'Stanisław Lem', year: 1987 },
  ],
} as const

describe('the columns of other programs', () => {
  for (const [name, [header, row, book]] of Object.entries(EXPORTS)) {
    it(`are told by their names: ${name}`, async () => {
      const { books, error, report } = await readFile(`${header}\n${row}\n`, 'csv')
      assert.deepEqual([error, books], [undefined, [book]])
      assert.equal(report.withoutYear, book.year === 0 ? 1 : 0)
      assert.equal(report.source, book.year === 0 ? name : 'another program')
    })
  }

  for (const header of [
    'Titel;Autor;Jahr',
    'Buchtitel;Verfasser;Erscheinungsjahr',
    'TITRE;Auteur;Année',
    'titre;auteurs;annee_de_parution',
    'Ti\u0301tulo;autor(es);an\u0303o',
    ' título ; Autor ; Ano de publicação ',
    'Titolo;Autori;Anno',
    'Название;Автор;Год издания',
    'タイトル;著者;出版年',
    '书名;作者;出版年份',
    'Book-Title;Author(s);Year Published',
    '="Title";="Authors";="Original Publication Year"',
  ]) {
    it(`are told by their names: ${header}`, async () => {
      const { books, error } = await readFile(`\ufeff${header}\r\nT;A;c1999\r\n`, 'csv')
      assert.deepEqual([error, books], [undefined, [{ title: 'T', author: 'A', year: 1999 }]])
    })
  }

  it('are not guessed from parts of names, and a column for each field is needed', async () => {
    for (const header of [
      'subtitle,author,year',
      'mitre,author,year',
      'title,author sort,year',
      'title,authors',
      'title,autor,date read',
    ]) {
      const { error } = await readFile(`${header}\n`, 'csv')
      assert.match(error ?? '', /^the file has the columns .*, and none that is known to be the /)
    }
  })

  it('are refused if two may be the same field, unless one is named', async () => {
    const text = 'Title,Authors,Publication Date,Publication Year\nT,A,2001,1999\n'
    const { error } = await readFile(text, 'csv')
    assert.equal(
      error,
      'the columns "publication date" and "publication year" may both be the year; name the right one with ' +
        'columns=year="publication date"',
    )
    const columns = { year: 'Publication Year' }
    const { books } = await readFile(text, 'csv', undefined, { columns })
    assert.deepEqual(books, [{ title: 'T', author: 'A', year: 1999 }])
  })

  it('are refused if one that is read occurs twice, whichever program wrote the file', async () => {
    for (const [header, name, columns] of [
      ['title,title,author,year', 'title'],
      ['title,Title,author,year', 'title'],
      ['title,author,year,Year', 'year'],
      ['book-catalogue id,title,author,year,author', 'author'],
      ['Titel,Titel,Autor,Jahr', 'titel'],
      ['Titel,Titel,Autor,Jahr', 'titel', { title: 'Titel' }],
      ['title,authors,pubdate,pubdate', 'pubdate'],
    ] as const) {
      const { error } = await readFile(`${header}\n`, 'csv', undefined, { columns })
      assert.equal(
        error,
        `several columns are named "${name}" (case does not matter); rename all but the right one`,
      )
    }
  })

  it('are those of our own file or of a known program, whatever else there is', async () => {
    const own = await readFile('Titel,title,author,year,Jahr\nU,T,A,1,2\n', 'csv')
    assert.deepEqual([own.report.source, own.books], ['this service', [{ title: 'T', author: 'A', year: 1 }]])
    const goodreads = await readFile('Title,Author,Autor,Year Published\nT,A,B,1\n', 'csv')
    assert.deepEqual(goodreads.books, [{ title: 'T', author: 'A', year: 1 }])
  })
})
