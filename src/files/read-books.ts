import { setImmediate as nextTurn } from 'node:timers/promises'
import { FIELD_NAMES, isFault, type NewBook, validateBook } from '../catalogue/book.ts'
import { quoted } from '../catalogue/quoted.ts'
import { type ColumnMapping, EXAMPLE_NAMES, EXAMPLE_NUMBERS } from './column-names.ts'
import { type CsvLayout, columnName, detectLayout } from './csv-layouts.ts'
import { type CsvRow, isBlank, isEmpty, MISPLACED } from './csv-parser.ts'
import { csvRows } from './csv-reader.ts'
import { decode, invalidBytesIn } from './decode-text.ts'
import type { ReadFormat } from './formats.ts'
import {
  ColumnsRefused,
  FaultyRows,
  ImportRefused,
  type ImportReport,
  MAX_FAULTY,
  type RowFault,
} from './import-report.ts'
import { items } from './json-reader.ts'
import { type Line, lines } from './ndjson-reader.ts'

/** Rows are read for this long before the event loop continues, in milliseconds. */
const TURN_TIME = 5

/** The clock is read once for this many rows. */
const CLOCK_INTERVAL = 16

const PREVIEW_ROWS = 5

/** UTF-16 code units of each cell. */
const PREVIEW_LENGTH = 100

export interface ReadOptions {
  readonly format: ReadFormat
  /** Fields that are not listed are found by the names of the columns. */
  readonly columns?: ColumnMapping | undefined
  /** False for CSV whose first line is data. Its columns are then named by their numbers, from 1. */
  readonly hasHeader?: boolean
  /** As `encodingNamed()` returns it. By default, the encoding is detected. */
  readonly encoding?: string | undefined
  /** Leaves out faulty rows and only reports them. Otherwise nothing of a file with faulty rows is stored. */
  readonly skipFaulty?: boolean
}

type Fault = Omit<RowFault, 'line'>

/** UTF-16 code units that a line may have outside its strings, because each can become an object. */
const MAX_STRUCTURE = 16 * 1024

/**
 * Yields the books of a file in groups of bounded size. Unless faulty rows are skipped, no group follows the first of
 * them, but the report continues, up to MAX_FAULTY rows.
 * @throws FaultyRows at the end if rows are faulty and not skipped, or at once if MAX_FAULTY rows are faulty.
 * @throws ColumnsRefused after the first rows if a field has no column, or more than one.
 * @throws ImportRefused at once if the file cannot be read to its end, or its rows cannot be told apart.
 */
export async function* readBooks(
  bytes: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  report: ImportReport,
): AsyncGenerator<NewBook[], void> {
  const { format, columns, hasHeader = true, encoding, skipFaulty } = options
  if (columns !== undefined && format !== 'csv') throw new ImportRefused('columns can be named only for CSV')
  if (!hasHeader && format !== 'csv') throw new ImportRefused('a header can be missing only for CSV')
  const texts = decode(bytes, encoding, report)
  const groups =
    format === 'csv'
      ? fromCsv(texts, options, report)
      : fromJson((format === 'json' ? items : lines)(texts), report)
  for await (const group of groups) {
    if ((report.faulty === 0 || skipFaulty) && group.length > 0) yield group
  }
  if (report.faulty > 0 && !skipFaulty) throw new FaultyRows(report.summary)
}

async function* fromCsv(
  texts: AsyncIterable<string>,
  { columns = {}, hasHeader = true, skipFaulty }: ReadOptions,
  report: ImportReport,
): AsyncGenerator<NewBook[], void> {
  let source: CsvLayout | undefined
  let headerLine = 0
  const begin = (first: readonly string[], line: number) => {
    headerLine = line
    const header = hasHeader ? first : first.map((_, index) => `${index + 1}`)
    source = detectLayout(header, columns, hasHeader ? EXAMPLE_NAMES : EXAMPLE_NUMBERS)
    report.source = source.name
    report.columns = source.columns
    report.preview.push(header.map(columnName))
    return source.used
  }
  const read = (row: CsvRow) => {
    if (skipFaulty && row.mayContainRows)
      throw new ImportRefused(
        `line ${row.line}: the row ${MISPLACED}; the end of the row cannot be determined`,
      )
    return bookOfRow(row, source as CsvLayout, report)
  }
  for await (const rows of csvRows(texts, begin, hasHeader)) {
    addToPreview(rows, report)
    if (source?.fault === undefined) yield await collect(rows, read, report)
    else if (report.preview.length > PREVIEW_ROWS) break
  }
  if (source === undefined)
    throw new ImportRefused(
      `the file is empty${hasHeader ? '; it needs a first line with the column names' : ''}`,
    )
  if (source.fault !== undefined) throw new ColumnsRefused(headerLine, source.fault)
}

function addToPreview(rows: readonly CsvRow[], { preview }: ImportReport): void {
  for (const row of rows) {
    if (preview.length > PREVIEW_ROWS) return
    if (!isEmpty(row)) preview.push(row.cells.map((cell) => cell.slice(0, PREVIEW_LENGTH).toWellFormed()))
  }
}

function bookOfRow(row: CsvRow, source: CsvLayout, report: ImportReport): NewBook | Fault | undefined {
  if (isEmpty(row)) return undefined
  if (row.isMalformed) return { field: null, code: 'misplaced_quote', reason: MISPLACED }
  const { cells } = row
  if (cells.length !== source.width && !mayDiffer(row, source)) {
    return {
      field: null,
      code: 'wrong_field_count',
      reason: `the number of fields is ${cells.length}, not ${source.width} as in the first line`,
    }
  }
  const values = source.read(cells)
  if (values.year !== undefined || !source.mayLackYear) return bookFrom(values, report)
  const book = bookFrom({ ...values, year: 0 }, report)
  if (!isFault(book)) report.withoutYear++
  return book
}

/**
 * Whether the row may have more or fewer cells than the header. Spreadsheets omit or add empty cells at the end. A row
 * that ends before title and author is more likely a fragment. After a stray quote, delimiters may be part of a text.
 */
function mayDiffer({ cells, stray }: CsvRow, { used, minimumWidth, width }: CsvLayout): boolean {
  if (stray !== undefined) return stray > Math.max(...used)
  return cells.length >= minimumWidth && cells.slice(width).every(isBlank)
}

function bookFrom(values: Readonly<Record<string, unknown>>, report: ImportReport): NewBook | Fault {
  if (report.hasInvalidBytes) {
    for (const field of FIELD_NAMES) {
      const reason = invalidBytesIn(values[field], report)
      if (reason !== undefined) return { field, code: 'invalid_bytes', reason }
    }
  }
  return validateBook(values)
}

async function* fromJson(
  groups: AsyncIterable<Line[]>,
  report: ImportReport,
): AsyncGenerator<NewBook[], void> {
  report.source = 'this service'
  const read = (line: Line) => bookOfLine(line, report)
  for await (const group of groups) yield await collect(group, read, report)
}

function bookOfLine({ text, item }: Line, report: ImportReport): NewBook | Fault | undefined {
  if (isBlank(text)) return undefined
  // Only objects are parsed, because errors and deep nesting take long.
  if (!text.trimStart().startsWith('{')) return notJson(text, report, noObject(text, item))
  if (text.length > MAX_STRUCTURE && structureOf(text) > MAX_STRUCTURE) {
    return {
      field: null,
      code: 'too_complex',
      reason: `has more than ${MAX_STRUCTURE} characters outside its strings`,
    }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return notJson(text, report, `${quoted(text)} is not JSON`)
  }
  return bookFrom(value as Record<string, unknown>, report)
}

function notJson(text: string, report: ImportReport, otherwise: string): Fault {
  const reason = invalidBytesIn(text, report)
  return { field: null, code: reason ? 'invalid_bytes' : 'not_json', reason: reason ?? otherwise }
}

function noObject(text: string, item: number | undefined): string {
  if (item === undefined && text.trimStart().startsWith('['))
    return 'is a JSON array; a file of one array is read if its name ends with .json, or its type is application/json'
  return `${quoted(text)} is not a JSON object`
}

/** @returns the number of characters outside strings. Quotes count. */
function structureOf(text: string): number {
  let count = 0
  let isWithin = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (isWithin && character === '\\') i++
    else if (character === '"') {
      isWithin = !isWithin
      count++
    } else if (!isWithin) count++
  }
  return count
}

/**
 * Validates and counts rows, and reports the faulty ones.
 * @param read returns undefined for an empty row.
 * @throws FaultyRows at MAX_FAULTY faulty rows.
 */
async function collect<Each extends Pick<Line, 'line' | 'item'>>(
  rows: Each[],
  read: (row: Each) => NewBook | Fault | undefined,
  report: ImportReport,
): Promise<NewBook[]> {
  const books: NewBook[] = []
  let begin = performance.now()
  for (const [index, row] of rows.entries()) {
    if (index % CLOCK_INTERVAL === 0 && performance.now() - begin > TURN_TIME) {
      await nextTurn()
      begin = performance.now()
    }
    const result = read(row)
    if (result === undefined) {
      report.empty++
      continue
    }
    report.rows++
    if (!isFault(result)) books.push(result)
    else {
      // All books of a JSON array may be on one line.
      const item = row.item === undefined ? '' : ` (item ${row.item})`
      const { field, code, reason } = result
      report.add({ line: row.line, field, code, reason: reason + item })
      if (report.faulty === MAX_FAULTY) throw new FaultyRows(report.summary)
    }
  }
  return books
}
