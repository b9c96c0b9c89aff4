import { FIELD_NAMES, type FieldName, type FieldValue, isNullable, isTextField } from '../catalogue/book.ts'
import { quoted } from '../catalogue/quoted.ts'
import { type ColumnMapping, columnsNaming, EXAMPLE_NAMES } from './column-names.ts'
import { OTHER_ENCODING, REPLACEMENT } from './decode-text.ts'
import { type ColumnFault, type FoundColumns, ImportRefused } from './import-report.ts'
import { ID_COLUMN, unguarded } from './write-books.ts'
import { parseYear, yearIn } from './year.ts'

/** The fields of a row before validation. An unknown year is undefined, and an invalid one is the text of its cell. */
export type Cells = { readonly [Name in FieldName]?: FieldValue | undefined }

export interface CsvLayout {
  readonly name: string
  readonly columns: FoundColumns
  readonly fault: ColumnFault | undefined
  /** Whether an unknown year becomes 0 instead of being a fault. */
  readonly mayLackYear: boolean
  /** The number of columns, the indices of those that are read, and the number of cells up to title and author. */
  readonly width: number
  readonly used: ReadonlySet<number>
  readonly minimumWidth: number
  read(cells: readonly string[]): Cells
}

/** @returns the cell of a column, or an empty text if there is no such column. */
type Get = (column: string) => string

/** Reads a field. The first column that it passes to `get` is the main one. */
type Read = (get: Get) => FieldValue | undefined

interface KnownSource {
  readonly name: string
  /** The columns that identify its files. Of a nested list, one is enough. */
  readonly columns: readonly (string | readonly string[])[]
  /** A field is missing if its files do not have it. */
  readonly fields: { readonly [Name in FieldName]?: Read }
}

const ownSource = (cellOf: (cell: string) => string, ...others: readonly string[]): KnownSource => ({
  name: 'this service',
  columns: ['title', 'author', 'year', ...others],
  fields: Object.fromEntries(
    FIELD_NAMES.map((name) => [name, (get: Get) => readOwn(name, cellOf(get(name)))]),
  ),
})

const OWN = ownSource(String)

/** The CSV for spreadsheets that this service writes. */
const SPREADSHEET = ownSource(unguarded, ID_COLUMN)

const SOURCES: readonly KnownSource[] = [
  OWN,
  {
    name: 'Goodreads',
    columns: ['Title', 'Author', 'Additional Authors', ['Original Publication Year', 'Year Published']],
    fields: {
      title: (get) => plain(get('Title')),
      author: (get) => joined([get('Author'), ...names(get('Additional Authors'), ',')]),
      // The first edition if it is known, rather than the reader's own.
      year: (get) =>
        foreignYear(plain(get('Original Publication Year'))) ?? foreignYear(plain(get('Year Published'))),
    },
  },
  {
    name: 'LibraryThing',
    columns: ['Title', 'Primary Author', 'Date'],
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
    fields: { title: (get) => plain(get('Title')), author: (get) => plain(get('Authors')) },
  },
  {
    name: 'BookWyrm',
    columns: ['title', 'author_text', 'remote_id'],
    fields: { title: (get) => plain(get('title')), author: (get) => plain(get('author_text')) },
  },
]

/** The name in reports of a program that is not in SOURCES. */
const OTHER = 'another program'

/**
 * Recognises the program that wrote the file by the names of columns, whatever their case and order. Other columns do
 * not matter.
 * @param mapping overrides the columns of that program. If no program is recognised, the fields that it lacks are found
 * by the known names of columns.
 * @param examples column names for messages.
 * @returns with a fault if a field has no column or several, or if the name of a column that is read is not unique.
 * @throws ImportRefused for a column of the mapping that does not exist.
 */
export function detectLayout(
  header: readonly string[],
  mapping: ColumnMapping,
  examples = EXAMPLE_NAMES,
): CsvLayout {
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
      column === undefined ? columnsNaming(field, [...positions.keys()]) : [[keyOf(column)]]
    if (best.length > 1) fault ??= ambiguous(field, best)
    else if (best.length === 0 && !isNullable(field)) missing.push(field)
    const names = [best, ...others].filter(({ length }) => length === 1).flat()
    const cellOf = known === SPREADSHEET ? unguarded : String
    const read = (name: string, get: Get) => readForeign(field, cellOf(get(name)))
    return (get) => names.reduce<FieldValue | undefined>((value, name) => value ?? read(name, get), undefined)
  }
  const readers = FIELD_NAMES.map((field) => [field, readerOf(field)] as const)
  if (missing.length > 0) fault ??= unknownColumns(header, missing, examples)
  const used = new Set<number>()
  // Calls each reader without a row, to find out which columns it reads.
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
    mayLackYear: known?.name !== OWN.name || mapping.year !== undefined,
    width: header.length,
    used,
    minimumWidth: 1 + Math.max(placeOf.title, placeOf.author),
    read(cells) {
      const get = (column: string) => cells[positions.get(column.toLowerCase()) ?? -1] ?? ''
      const values: Record<string, FieldValue | undefined> = {}
      for (const [field, read] of readers) values[field] = read(get)
      return values
    },
  }
}

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

/** The number of column names that a message quotes. */
const MAX_NAMES = 30

function columnsOf(header: readonly string[]): string {
  const names = header.slice(0, MAX_NAMES).map(quoted)
  const more = header.length > MAX_NAMES ? ` and ${header.length - MAX_NAMES} more` : ''
  const advice = header.some((name) => name.includes(REPLACEMENT)) ? ` (${OTHER_ENCODING})` : ''
  return `the file has the columns ${names.join(', ')}${more}${advice}`
}

function unknownColumns(
  header: readonly string[],
  missing: readonly FieldName[],
  names: typeof EXAMPLE_NAMES,
): ColumnFault {
  const fields = missing.map((name) => `the ${name}`).join(' or ')
  const examples = missing.map((name) => `${name}=${names[name]}`).join(',')
  const mayLackYears = missing.includes('year')
  // In a report, the first line may be its heading.
  const above =
    missing.length > 2 && names === EXAMPLE_NAMES ? 'remove any lines above the column names, or ' : ''
  return {
    message:
      `${columnsOf(header)}, and none that is known to be ${fields}; ${above}name ${missing.length > 1 ? 'them' : 'it'}` +
      (mayLackYears ? ', or say that there are no years,' : ''),
    columns: mayLackYears ? [examples, examples.replace(`year=${names.year}`, 'year=')] : [examples],
  }
}

/** Removes the `="…"` that keeps spreadsheets from reading a text as a number. */
function unwrapped(cell: string): string {
  return /^=".*"$/s.test(cell) ? cell.slice(2, -1) : cell
}

/** In UTF-16 code units. A longer cell is no title or list of names, so its spaces and separators are kept. */
const MAX_NAMES_LENGTH = 16 * 1024

/** Makes spaces single, because programs leave gaps where a part of a name is missing. */
function plain(cell: string): string {
  const text = unwrapped(cell)
  return (text.length > MAX_NAMES_LENGTH ? text : text.replace(/\s+/g, ' ')).trim()
}

function names(cell: string, separator: string): string[] {
  return cell.length > MAX_NAMES_LENGTH ? [cell] : cell.split(separator)
}

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

function readOwn(name: FieldName, cell: string): FieldValue {
  if (isTextField(name)) return isNullable(name) && cell === '' ? null : cell
  const year = parseYear(cell)
  return Number.isSafeInteger(year) ? year : cell
}

function readForeign(name: FieldName, cell: string): FieldValue | undefined {
  const text = plain(cell)
  if (!isTextField(name)) return foreignYear(text)
  return isNullable(name) && text === '' ? undefined : text
}

/** @returns the text itself if it may have had invalid bytes, so that these are reported. */
function foreignYear(text: string): number | string | undefined {
  return text.includes(REPLACEMENT) ? text : yearIn(text)
}
