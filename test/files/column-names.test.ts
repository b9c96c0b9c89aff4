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
  Babelio: [
    '"ISBN";"Titre";"Auteur";"Editeur";"Date de publication";"Date d`entrée dans Babelio";"Statut";"Note"',
    '"9780156027601";"Solaris";"Lem Stanisław";"Denoël";"0000-00-00";"2024-09-05 13:42:22";"Lu";"4.0"',
    { title: 'Solaris', author: 'Lem Stanisław', year: 0 },
  ],
  'Handy Library': [
    'ISBN;Titolo;Sottotitolo;Autore;Formato;Numero di pagine;Editore;Data di pubblicazione;Note private;Voto',
    '9780156027601;Solaris;Romanzo;Stanisław Lem;Paperback;204;Sellerio;2013-xx-xx;;',
    { title: 'Solaris', author: 'Stanisław Lem', year: 2013 },
  ],
  Tellico: [
    'Title,Subtitle,Author,Editor,Publisher,Edition,Copyright Year,Publication Year,ISBN#,Series,Date Created',
    'Solaris,,Stanisław Lem,,Harcourt,1,1961,1987,9780156027601,,2024-03-01',
    { title: 'Solaris', author: 'Stanisław Lem', year: 1987 },
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
      assert.equal(report.source, ['StoryGraph', 'BookWyrm'].includes(name) ? name : 'another program')
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
    'TITLE,Written by,PubDate',
    'Book-Title;Book-Author;Year-Of-Publication',
    'Buchtitel,Autor/in,Erscheinungsdatum',
    'Titre;Auteur·rice;Date de parution',
    'Título,Autor/a,Fecha de publicación',
    'TITULO DO LIVRO,autores,Data de Lançamento',
    'titolo,autore/i,data_di_uscita',
    'Titel,Schrijver,Jaar van uitgave',
    'Titel,Författare,Utgivningsår',
    'titel,forfatter(e),udgivelsesår',
    'Tittel,Forfatter,Utgitt år',
    'Nimeke,Tekijä,Julkaisuvuosi',
    'Tytuł,Autor,Data wydania',
    'Název knihy,Autor,Rok vydání',
    'cim,szerzo,megjelenes_eve',
    'Titlu,Autor,Anul apariției',
    'Naslov,Autor,Godina izdanja',
    'Τίτλος,Συγγραφέας,Έτος έκδοσης',
    'Назва,Автор,Рік видання',
    'KİTAP ADI,YAZAR,BASIM YILI',
    'judul,penulis,tahun',
    'Tên sách,Tác giả,Năm xuất bản',
    '書名,作者,出版日期',
    '도서명,지은이,출판일',
    'اسم الكتاب,المؤلف,سنة النشر',
    'שם הספר,מחבר,שנת הוצאה',
    'शीर्षक,लेखक,प्रकाशन वर्ष',
    'Название;Автор;Год издания',
    'タイトル;著者;出版年',
    '书名;作者;出版年份',
    'Book-Title;Author(s);Year Published',
    '="Title";="Authors";="Original Publication Year"',
  ]) {
    it(`are told by their names: ${header}`, async () => {
      const row = ['T', 'A', 'c1999'].join(/[,;]/.exec(header)?.[0])
      const { books, error } = await readFile(`\ufeff${header}\r\n${row}\r\n`, 'csv')
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
    const text = 'Title,Authors,Publication Date,Release Date\nT,A,2001,1999\n'
    const { error } = await readFile(text, 'csv')
    assert.equal(
      error,
      'the columns "publication date" and "release date" may both be the year; name the right one with ' +
        'columns=year="publication date"',
    )
    const columns = { year: 'Release Date' }
    const { books } = await readFile(text, 'csv', undefined, { columns })
    assert.deepEqual(books, [{ title: 'T', author: 'A', year: 1999 }])
  })

  it('are years of the first edition if these are known, and rather years than dates', async () => {
    const rows = ['1987-05-01,1986,1961', '1987-05-01,1986,', '1987-05-01,,', '1987-05-01,never,18th century']
    const text = `Titel,Autor,Erscheinungsdatum,Jahr,Jahr der Erstausgabe\n${rows.map((row) => `T,A,${row}\n`).join('')}`
    const { books } = await readFile(text, 'csv')
    assert.deepEqual(
      books.map(({ year }) => year),
      [1961, 1986, 1987, 1987],
    )
  })

  for (const name of [
    'Date',
    'Date Read',
    'Date Added',
    'Last Date Read',
    'timestamp',
    'Lu le',
    'AR',
    'Any',
    'Name',
  ])
    it(`are not taken for a year: ${name}`, async () => {
      const { error } = await readFile(`Title,Authors,${name}\nT,A,1999\n`, 'csv')
      assert.match(error ?? '', /none that is known to be the year/)
    })

  it('are not taken for title or author beside these', async () => {
    const others =
      'Subtitle,Series,Title Sort,Original Title,Series Title,Author l-f,Author Sort,Additional Authors,Narrator'
    const cells = others.replaceAll(/[^,]+/g, 'x')
    const { books } = await readFile(`${others},Title,Author,Published\n${cells},T,A,1999\n`, 'csv')
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
