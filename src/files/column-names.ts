import { FIELD_NAMES, type NewBook } from '../catalogue/book.ts'
import { searchedWords } from '../catalogue/search-words.ts'

/** What people and programs call the columns of the fields: in English, German, French, Spanish, Portuguese, … */
const NAMES: Readonly<Record<keyof NewBook, string>> = {
  title:
    'title, book title, Titel, Buchtitel, titre, título, titolo, tytuł, название, タイトル, 書名, 书名, 제목',
  author:
    'author, authors, author(s), author name, author names, creator, creators, writer, Autor, Autoren, Verfasser, auteur, ' +
    'auteurs, auteur(s), autores, autor(es), autore, autori, автор, 著者, 著者名, 作者, 저자',
  year:
    'year, publication year, year of publication, year published, published year, publish year, first publish year, ' +
    'first publication year, original publication year, publication date, date published, publish date, published date, ' +
    'Jahr, Erscheinungsjahr, année, année de publication, année de parution, año, año de publicación, ano de publicação, ' +
    'anno, anno di pubblicazione, jaar, rok, год, год издания, 出版年, 出版年份, 発行年, 발행년도',
}

/** UTF-16 code units of a column name that are looked at. */
const MAX_LENGTH = 100

const FIELDS = new Map(
  FIELD_NAMES.flatMap((field) => NAMES[field].split(', ').map((name) => [keyOf(name), field])),
)

/** @returns the field that a column has by its name. Case, accents and punctuation do not matter. */
export function fieldNamed(column: string): keyof NewBook | undefined {
  return FIELDS.get(keyOf(column))
}

function keyOf(name: string): string {
  return searchedWords(name.slice(0, MAX_LENGTH)).join(' ')
}
