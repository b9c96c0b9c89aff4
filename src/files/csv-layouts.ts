import {
  FIELD_NAMES,
  type FieldName,
  type FieldValue,
  isNullable,
  isTextField,
  REQUIRED_FIELDS,
} from '../catalogue/book.ts'
import { quoted } from '../catalogue/quoted.ts'
import type { ColumnMapping } from './column-mapping.ts'
import { columnsTelling, EXAMPLES } from './column-names.ts'
import { REPLACEMENT } from './decode-text.ts'
import { ID_COLUMN, unguarded } from './formulas.ts'
import { ImportRefused } from './import-report.ts'
import { parseYear, yearIn } from './year.ts'

/** The fields of a book in a row, before validation. An unknown year is undefined; a text is no year. */
export type Cells = { readonly [Name in FieldName]?: FieldValue | undefined }

/** Reads the book from the cells of a row. */
export interface CsvLayout {
  readonly name: string
  /** Whether an unknown year becomes 0. Otherwise it is a fault. */
  readonly mayLackYear: boolean
  /** Columns of the header; which of them are read; and as many as have title and author. */
  readonly width: number
  readonly used: ReadonlySet<number>
  readonly least: number
  read(cells: readonly string[]): Cells
}

/** The cell of a column, empty if there is no such column. */
type Get = (column: string) => string

interface KnownSource {
  readonly name: string
  /** The columns that identify it, those of title and author first. Of a list, one is enough. */
  readonly columns: readonly [title: string, author: string, ...others: (string | readonly string[])[]]
  readonly mayLackYear: boolean
  read(get: Get): Cells
}

const OWN: KnownSource = {
  name: 'this service',
  columns: ['title', 'author', 'year'],
  mayLackYear: false,
  read(get) {
    const cells: Record<string, FieldValue> = {}
    for (const name of FIELD_NAMES) cells[name] = readOwn(name, get(name))
    return cells
  },
}

/** The file for spreadsheets that this service writes. */
const SPREADSHEET: KnownSource = {
  ...OWN,
  columns: [...OWN.columns, ID_COLUMN],
  read: (get) => OWN.read((column) => unguarded(get(column))),
}

/** This service and the programs whose exports are accepted, with their column names. */
const SOURCES: readonly KnownSource[] = [
  OWN,
  {
    name: 'Goodreads',
    columns: ['Title', 'Author', ['Original Publication Year', 'Year Published']],
    mayLackYear: true,
    read: (get) => ({
      title: plain(get('Title')),
      author: joined([get('Author'), ...names(get('Additional Authors'), ',')]),
      // The first edition, not the one on the reader's shelf.
      year: foreignYear(plain(get('Original Publication Year'))) ?? foreignYear(plain(get('Year Published'))),
    }),
  },
  {
    name: 'LibraryThing',
    columns: ['Title', 'Primary Author', 'Date'],
    mayLackYear: true,
    read: (get) => ({
      title: plain(get('Title')),
      author: joined([get('Primary Author'), ...names(get('Secondary Author'), '|')].map(firstNameFirst)),
      year: foreignYear(plain(get('Date'))),
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
  // These two export no year.
  {
    name: 'StoryGraph',
    columns: ['Title', 'Authors', 'ISBN/UID'],
    mayLackYear: true,
    read: (get) => ({ title: plain(get('Title')), author: plain(get('Authors')), year: undefined }),
  },
  {
    name: 'BookWyrm',
    columns: ['title', 'author_text', 'remote_id'],
    mayLackYear: true,
    read: (get) => ({ title: plain(get('title')), author: plain(get('author_text')), year: undefined }),
  },
]

/** A program that is not known. All fields are read from named columns. */
const OTHER: KnownSource = {
  name: 'another program',
  columns: OWN.columns,
  mayLackYear: true,
  read: () => ({}),
}

/**
 * Recognises the program that wrote the file. The case of names, other columns and the order do not matter.
 * @param columns of fields that are not where that program has them. If the program is not known, all fields are read
 * from these columns, or from those whose names tell.
 * @throws ImportRefused that names the columns found and the fields that have none, or columns that tell the same field, or
 * one whose name occurs several times.
 */
export function detectLayout(header: readonly string[], columns: ColumnMapping): CsvLayout {
  const positions = new Map<string, number>()
  const repeated = new Set<string>()
  for (const [index, name] of header.entries()) {
    const key = keyOf(unwrapped(name))
    if (key === '') continue
    if (positions.has(key)) repeated.add(key)
    else positions.set(key, index)
  }
  const has = (column: string) => positions.has(keyOf(column))
  for (const column of Object.values(columns)) {
    if (column !== '' && !has(column))
      throw new ImportRefused(`there is no column ${quoted(column)}; ${columnsOf(header)}`)
  }
  const known = [SPREADSHEET, ...SOURCES].find((source) =>
    source.columns.every((column) => (typeof column === 'string' ? has(column) : column.some(has))),
  )
  const source = known ?? OTHER
  const named = new Map(
    FIELD_NAMES.flatMap((field) => {
      const column = columns[field]
      if (column !== undefined) return [[field, [keyOf(column)]]]
      return known ? [] : [[field, told(field, [...positions.keys()])]]
    }),
  )
  const missing = REQUIRED_FIELDS.filter((field) => named.get(field)?.length === 0)
  if (missing.length > 0) throw unknownColumns(header, missing)
  const cellOf = (get: Get, column: string) => (known === SPREADSHEET ? unguarded(get(column)) : get(column))
  const fields = [...named]
  const readNamed = (get: Get): Partial<Cells> =>
    Object.fromEntries(
      fields.map(([field, names]) => [
        field,
        first(names, (column) => readForeign(field, cellOf(get, column))),
      ]),
    )
  const read = named.size === 0 ? source.read : (get: Get) => ({ ...source.read(get), ...readNamed(get) })
  const placeOf = (column: string) => positions.get(keyOf(column)) ?? -1
  const used = new Set<number>()
  // Reads no row yet: this shows which columns are read.
  read((column) => {
    used.add(placeOf(column))
    if (!repeated.has(keyOf(column))) return ''
    const several = `several columns are named ${quoted(column)} (case does not matter)`
    throw new ImportRefused(`${several}; rename all but the right one`)
  })
  const [title, author] = source.columns
  const [[titleColumn = title] = [], [authorColumn = author] = []] = [named.get('title'), named.get('author')]
  return {
    name: source.name,
    mayLackYear: source.mayLackYear || named.has('year'),
    width: header.length,
    used,
    least: 1 + Math.max(placeOf(titleColumn), placeOf(authorColumn)),
    read: (cells) => read((column) => cells[positions.get(column.toLowerCase()) ?? -1] ?? ''),
  }
}

const keyOf = (column: string) => column.trim().toLowerCase()

/** @returns the columns that tell a field by their names, the best first. */
function told(field: FieldName, columns: readonly string[]): string[] {
  const telling = columnsTelling(field, columns)
  const [[name, other] = []] = telling
  if (other === undefined) return telling.filter(({ length }) => length === 1).flat()
  const both = `${quoted(name)} and ${quoted(other)} may both be the ${field}`
  throw new ImportRefused(`the columns ${both}; name the right one`, {
    columns: [`${field}=${quoted(name)}`],
  })
}

/** The first of the values that is not undefined. */
function first<Name, Value>(names: readonly Name[], read: (name: Name) => Value): Value | undefined {
  for (const name of names) {
    const value = read(name)
    if (value !== undefined) return value
  }
  return undefined
}

/** How many column names an error quotes. */
const MAX_NAMES = 30

function columnsOf(header: readonly string[]): string {
  const names = header.slice(0, MAX_NAMES).map(quoted)
  const more = header.length > MAX_NAMES ? ` and ${header.length - MAX_NAMES} more` : ''
  return `the file has the columns ${names.join(', ')}${more}`
}

/** @param missing fields that no column is known for. */
function unknownColumns(header: readonly string[], missing: readonly FieldName[]): ImportRefused {
  const fields = missing.map((name) => `the ${name}`).join(' or ')
  const examples = missing.map((name) => `${name}=${EXAMPLES[name]}`).join(',')
  const mayLackYears = missing.includes('year')
  return new ImportRefused(
    `${columnsOf(header)}, and none that is known to be ${fields}; name ${missing.length > 1 ? 'them' : 'it'}` +
      (mayLackYears ? ', or say that there are no years,' : ''),
    { columns: mayLackYears ? [examples, examples.replace(EXAMPLES.year, '')] : [examples] },
  )
}

/** Removes the `="…"` that keeps spreadsheets from reading a text as a number. */
function unwrapped(cell: string): string {
  return /^=".*"$/s.test(cell) ? cell.slice(2, -1) : cell
}

/** UTF-16 code units. A longer cell is not a title or list of names. Its spaces and separators stay as they are. */
const MAX_NAMES_LENGTH = 16 * 1024

/** Makes spaces single. These programs leave gaps where a part of a name is missing. */
function plain(cell: string): string {
  const text = unwrapped(cell)
  return (text.length > MAX_NAMES_LENGTH ? text : text.replace(/\s+/g, ' ')).trim()
}

function names(cell: string, separator: string): string[] {
  return cell.length > MAX_NAMES_LENGTH ? [cell] : cell.split(separator)
}

/** Joins authors into one text, each once. */
function joined(authors: readonly string[]): string {
  return [...new Set(authors.map(plain))].filter((author) => author !== '').join(', ')
}

function firstNameFirst(author: string): string {
  const [, last, first] = /^([^,]+),([^,]+)$/.exec(plain(author)) ?? []
  return first === undefined ? author : `${first} ${last}`
}

const UNKNOWN_TO_CALIBRE = /^0(?:0\d\d-|100-|101-01-01)\p{ASCII}*$/u

/** Calibre treats a date up to 1 January 101 as unknown. It writes that day, or the day before in some time zones. */
function calibreYear(date: string): number | string | undefined {
  return UNKNOWN_TO_CALIBRE.test(date) ? undefined : foreignYear(date)
}

/** How a field is read from its column in a file of this service. */
function readOwn(name: FieldName, cell: string): FieldValue {
  if (isTextField(name)) return isNullable(name) && cell === '' ? null : cell
  const year = parseYear(cell)
  return Number.isSafeInteger(year) ? year : cell
}

/** How a field is read from the one column that is named for it in a file of another program. */
function readForeign(name: FieldName, cell: string): FieldValue | undefined {
  const text = plain(cell)
  if (!isTextField(name)) return foreignYear(text)
  return isNullable(name) && text === '' ? undefined : text
}

/** @returns the text itself if it may have had bytes that are no character. */
function foreignYear(text: string): number | string | undefined {
  return text.includes(REPLACEMENT) ? text : yearIn(text)
}
