import { FIELD_NAMES, type FieldName, type FieldValue, isNullable, isTextField } from '../catalogue/book.ts'
import { quoted } from '../catalogue/quoted.ts'
import type { ColumnMapping } from './column-mapping.ts'
import { columnsTelling, EXAMPLES } from './column-names.ts'
import { REPLACEMENT } from './decode-text.ts'
import { type ColumnFault, type FoundColumns, ImportRefused } from './import-report.ts'
import { ID_COLUMN, unguarded } from './write-books.ts'
import { parseYear, yearIn } from './year.ts'

/** The fields of a book in a row, before validation. An unknown year is undefined; a text is no year. */
export type Cells = { readonly [Name in FieldName]?: FieldValue | undefined }

/** How the book is read from the cells of a row. */
export interface CsvLayout {
  readonly name: string
  readonly columns: FoundColumns
  /** Why the file cannot be read. */
  readonly fault: ColumnFault | undefined
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

/** Reads a field, first from its main column. */
type Read = (get: Get) => FieldValue | undefined

interface KnownSource {
  readonly name: string
  /** The columns that identify it. Of a list, one is enough. */
  readonly columns: readonly (string | readonly string[])[]
  readonly mayLackYear: boolean
  /** Without a field that its files do not have. */
  readonly fields: { readonly [Name in FieldName]?: Read }
}

const OWN: KnownSource = {
  name: 'this service',
  columns: ['title', 'author', 'year'],
  mayLackYear: false,
  fields: Object.fromEntries(FIELD_NAMES.map((name) => [name, (get: Get) => readOwn(name, get(name))])),
}

/** The file for spreadsheets that this service writes. */
const SPREADSHEET: KnownSource = {
  ...OWN,
  columns: [...OWN.columns, ID_COLUMN],
  fields: Object.fromEntries(
    FIELD_NAMES.map((name) => [name, (get: Get) => readOwn(name, unguarded(get(name)))]),
  ),
}

/** This service and the programs whose exports are accepted, with their column names. */
const SOURCES: readonly KnownSource[] = [
  OWN,
  {
    name: 'Goodreads',
    columns: ['Title', 'Author', ['Original Publication Year', 'Year Published']],
    mayLackYear: true,
    fields: {
      title: (get) => plain(get('Title')),
      author: (get) => joined([get('Author'), ...names(get('Additional Authors'), ',')]),
      // The first edition, not the one on the reader's shelf.
      year: (get) =>
        foreignYear(plain(get('Original Publication Year'))) ?? foreignYear(plain(get('Year Published'))),
    },
  },
  {
    name: 'LibraryThing',
    columns: ['Title', 'Primary Author', 'Date'],
    mayLackYear: true,
    fields: {
      title: (get) => plain(get('Title')),
      author: (get) =>
        joined([get('Primary Author'), ...names(get('Secondary Author'), '|')].map(firstNameFirst)),
      year: (get) => foreignYear(plain(get('Date'))),
    },
  },
  {
    name: 'Calibre',
    columns: ['title', 'authors', 'pubdate'],
    mayLackYear: true,
    fields: {
      title: (get) => plain(get('title')),
      author: (get) => joined(names(get('authors'), '&')),
      year: (get) => calibreYear(plain(get('pubdate'))),
    },
  },
  // These two export no year.
  {
    name: 'StoryGraph',
    columns: ['Title', 'Authors', 'ISBN/UID'],
    mayLackYear: true,
    fields: { title: (get) => plain(get('Title')), author: (get) => plain(get('Authors')) },
  },
  {
    name: 'BookWyrm',
    columns: ['title', 'author_text', 'remote_id'],
    mayLackYear: true,
    fields: { title: (get) => plain(get('title')), author: (get) => plain(get('author_text')) },
  },
]

/** What a file of an unknown program is called. All fields are read from named columns. */
const OTHER = 'another program'

/**
 * Recognises the program that wrote the file. The case of names, other columns and the order do not matter.
 * @param mapping columns of fields that are not where that program has them. If the program is not known, all fields are
 * read from these columns, or from those whose names tell.
 * @returns with a fault if a field has no column, if several tell it, or if several have the name of one that is read.
 * @throws ImportRefused for a column of the mapping that does not exist.
 */
export function detectLayout(header: readonly string[], mapping: ColumnMapping): CsvLayout {
  const positions = new Map<string, number>()
  const repeated = new Set<string>()
  for (const [index, name] of header.entries()) {
    const key = keyOf(name)
    if (key === '') continue
    if (positions.has(key)) repeated.add(key)
    else positions.set(key, index)
  }
  const has = (column: string) => positions.has(keyOf(column))
  for (const column of Object.values(mapping)) {
    if (column !== '' && !has(column))
      throw new ImportRefused(`there is no column ${quoted(column)}; ${columnsOf(header)}`)
  }
  const known = [SPREADSHEET, ...SOURCES].find((source) =>
    source.columns.every((column) => (typeof column === 'string' ? has(column) : column.some(has))),
  )
  const missing: FieldName[] = []
  let fault: ColumnFault | undefined
  const readerOf = (field: FieldName): Read => {
    const column = mapping[field]
    if (known !== undefined && column === undefined) return known.fields[field] ?? (() => undefined)
    const [best = [], ...others] =
      column === undefined ? columnsTelling(field, [...positions.keys()]) : [[keyOf(column)]]
    if (best.length > 1) fault ??= ambiguous(field, best)
    else if (best.length === 0 && !isNullable(field)) missing.push(field)
    const names = [best, ...others].filter(({ length }) => length === 1).flat()
    const cellOf = known === SPREADSHEET ? unguarded : String
    return (get) => first(names, (name) => readForeign(field, cellOf(get(name))))
  }
  const readers = FIELD_NAMES.map((field) => [field, readerOf(field)] as const)
  if (missing.length > 0) fault ??= unknownColumns(header, missing)
  const used = new Set<number>()
  // Reads no row yet: this shows which columns are read.
  const columns = readers.map(([field, read]) => {
    const places: number[] = []
    read((column) => {
      if (repeated.has(keyOf(column))) fault ??= repeatedColumn(column)
      places.push(positions.get(keyOf(column)) ?? -1)
      return ''
    })
    for (const place of places) used.add(place)
    return [field, places.find((place) => place >= 0) ?? -1] as const
  })
  const placeOf = Object.fromEntries(columns) as Record<FieldName, number>
  return {
    name: known?.name ?? OTHER,
    columns: Object.fromEntries(
      columns.map(([field, place]) => [field, place < 0 ? null : columnName(header[place] ?? '')]),
    ) as FoundColumns,
    fault,
    mayLackYear: known?.mayLackYear !== false || mapping.year !== undefined,
    width: header.length,
    used,
    least: 1 + Math.max(placeOf.title, placeOf.author),
    read(cells) {
      const get = (column: string) => cells[positions.get(column.toLowerCase()) ?? -1] ?? ''
      const values: Record<string, FieldValue | undefined> = {}
      for (const [field, read] of readers) values[field] = read(get)
      return values
    },
  }
}

/** The name that is in a cell of the header. */
export const columnName = (cell: string) => unwrapped(cell).trim()

const keyOf = (column: string) => columnName(column).toLowerCase()

function ambiguous(field: FieldName, [name, other]: readonly string[]): ColumnFault {
  const both = `${quoted(name)} and ${quoted(other)} may both be the ${field}`
  return { message: `the columns ${both}; name the right one`, columns: [`${field}=${quoted(name)}`] }
}

function repeatedColumn(column: string): ColumnFault {
  const several = `several columns are named ${quoted(column)} (case does not matter)`
  return { message: `${several}; rename all but the right one`, columns: [] }
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
function unknownColumns(header: readonly string[], missing: readonly FieldName[]): ColumnFault {
  const fields = missing.map((name) => `the ${name}`).join(' or ')
  const examples = missing.map((name) => `${name}=${EXAMPLES[name]}`).join(',')
  const mayLackYears = missing.includes('year')
  return {
    message:
      `${columnsOf(header)}, and none that is known to be ${fields}; name ${missing.length > 1 ? 'them' : 'it'}` +
      (mayLackYears ? ', or say that there are no years,' : ''),
    columns: mayLackYears ? [examples, examples.replace(EXAMPLES.year, '')] : [examples],
  }
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
