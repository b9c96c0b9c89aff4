import type { NewBook } from '../catalogue/book.ts'
import { parseYear } from '../transfer/fields.ts'
import { ImportRefused } from './import-report.ts'
import { yearIn } from './year.ts'

/** What a row says of a book, before it is checked. A year that is not told is undefined. */
export type Cells = { readonly [Name in keyof NewBook]: NewBook[Name] | undefined }

/** Takes the book out of the cells of a row. */
export interface CsvSource {
  readonly name: string
  /** Whether a year that is not told becomes 0; else it is a fault. */
  readonly mayLackYear: boolean
  read(cells: readonly string[]): Cells
}

/** A cell of the row by the name of its column; empty if there is no such column. */
type Get = (column: string) => string

interface KnownSource {
  readonly name: string
  /** The columns by which it is recognised; of those in a list, one. */
  readonly columns: readonly (string | readonly string[])[]
  readonly mayLackYear: boolean
  read(get: Get): Cells
}

/** Our own, and the programs whose exports are taken, each with the names that it gives to its columns. */
const SOURCES: readonly KnownSource[] = [
  {
    name: 'this service',
    columns: ['title', 'author', 'year'],
    mayLackYear: false,
    read: (get) => ({ title: get('title'), author: get('author'), year: parseYear(get('year')) }),
  },
  {
    name: 'Goodreads',
    columns: ['Title', 'Author', ['Original Publication Year', 'Year Published']],
    mayLackYear: true,
    read: (get) => ({
      title: plain(get('Title')),
      author: joined([get('Author'), ...names(get('Additional Authors'), ',')]),
      // The first edition, not the one on the reader's shelf.
      year: yearIn(plain(get('Original Publication Year'))) ?? yearIn(plain(get('Year Published'))),
    }),
  },
  {
    name: 'LibraryThing',
    columns: ['Title', 'Primary Author', 'Date'],
    mayLackYear: true,
    read: (get) => ({
      title: plain(get('Title')),
      author: joined([get('Primary Author'), ...names(get('Secondary Author'), '|')].map(firstNameFirst)),
      year: yearIn(plain(get('Date'))),
    }),
  },
  {
    name: 'Calibre',
    columns: ['title', 'authors', 'pubdate'],
    mayLackYear: true,
    read: (get) => ({
      title: plain(get('title')),
      author: joined(names(get('authors'), '&')),
      year: calibreYear(plain(get('pubdate'))),
    }),
  },
]

/**
 * Finds out whose file it is. The case of the names does not matter, nor do other columns, and the order.
 * @throws ImportRefused that names the columns found and those needed.
 */
export function recognise(header: readonly string[]): CsvSource {
  const positions = new Map<string, number>()
  for (const [index, name] of header.entries()) {
    const key = unwrapped(name).trim().toLowerCase()
    if (!positions.has(key)) positions.set(key, index)
  }
  const has = (column: string) => positions.has(column.toLowerCase())
  const source = SOURCES.find(({ columns }) =>
    columns.every((column) => (typeof column === 'string' ? has(column) : column.some(has))),
  )
  if (source === undefined) throw new ImportRefused(unknownHeader(header))
  return {
    name: source.name,
    mayLackYear: source.mayLackYear,
    read: (cells) => source.read((column) => cells[positions.get(column.toLowerCase()) ?? -1] ?? ''),
  }
}

/** Names of columns that are quoted in an error, and the part of each. */
const [MAX_NAMES, MAX_NAME] = [30, 40]

function unknownHeader(header: readonly string[]): string {
  const found = header.slice(0, MAX_NAMES).map((name) => JSON.stringify(name.slice(0, MAX_NAME)))
  const more = header.length > MAX_NAMES ? ` and ${header.length - MAX_NAMES} more` : ''
  const needed = SOURCES.map(
    ({ name, columns }) =>
      `${columns.map((column) => (typeof column === 'string' ? column : column.join(' or '))).join(', ')} (${name})`,
  )
  return `the columns found are ${found.join(', ')}${more}; needed are ${needed.join('; or ')}`
}

/** Without the `="…"` that keeps spreadsheets from taking a text for a number. */
function unwrapped(cell: string): string {
  return /^=".*"$/s.test(cell) ? cell.slice(2, -1) : cell
}

/** UTF-16 code units. A longer cell is no title or list of names, and its spaces and separators stay as they are. */
const MAX_NAMES_LENGTH = 16 * 1024

/** With single spaces: these programs leave gaps where a part of a name is missing. */
function plain(cell: string): string {
  const text = unwrapped(cell)
  return (text.length > MAX_NAMES_LENGTH ? text : text.replace(/\s+/g, ' ')).trim()
}

function names(cell: string, separator: string): string[] {
  return cell.length > MAX_NAMES_LENGTH ? [cell] : cell.split(separator)
}

/** Several authors as one text, each once. */
function joined(authors: readonly string[]): string {
  return [...new Set(authors.map(plain))].filter((author) => author !== '').join(', ')
}

function firstNameFirst(author: string): string {
  const [, last, first] = /^([^,]+),([^,]+)$/.exec(plain(author)) ?? []
  return first === undefined ? author : `${first} ${last}`
}

/** Calibre treats a date up to 1 January 101 as unknown. It writes that day, or the day before in some time zones. */
function calibreYear(date: string): number | undefined {
  return /^0(?:0\d\d-|100-|101-01-01)/.test(date) ? undefined : yearIn(date)
}
