import { setImmediate } from 'node:timers/promises'
import type { NewBook } from '../catalogue/book.ts'
import { bookOf, type FieldFault, isFault } from '../transfer/fields.ts'
import { type CsvSource, recognise } from './csv-layouts.ts'
import type { Row } from './csv-parser.ts'
import { csvRows } from './csv-reader.ts'
import type { Format } from './formats.ts'
import { ImportRefused, type ImportReport, MAX_FAULTY } from './import-report.ts'
import { type Line, lines } from './ndjson-reader.ts'

/** How long rows are read before others have their turn, in milliseconds; and after how many the clock is looked at. */
const [TURN, ROWS] = [5, 16]

/** UTF-16 code units that a line may have outside its texts, where each can become an object of its own. */
const MAX_STRUCTURE = 16 * 1024

/**
 * The books of a file, in groups of bounded size. After the first bad row no more of them come, but the report is
 * completed, up to a number of bad rows.
 * @throws ImportRefused at the end, if a row is bad; or at once, for a file that cannot be read at all.
 */
export async function* readBooks(
  bytes: AsyncIterable<Uint8Array>,
  format: Format,
  report: ImportReport,
): AsyncGenerator<NewBook[], void> {
  const groups = format === 'csv' ? fromCsv(bytes, report) : fromNdjson(bytes, report)
  for await (const group of groups) {
    if (report.faulty === 0 && group.length > 0) yield group
  }
  if (report.faulty > 0) throw new ImportRefused(report.summary)
}

async function* fromCsv(
  bytes: AsyncIterable<Uint8Array>,
  report: ImportReport,
): AsyncGenerator<NewBook[], void> {
  let source: CsvSource | undefined
  let width = 0
  const read = (row: Row) => bookOfRow(row, source as CsvSource, width, report)
  for await (const rows of csvRows(bytes)) {
    const header = source === undefined ? rows.shift() : undefined
    if (header !== undefined) {
      source = recognise(header.cells)
      width = header.cells.length
      report.source = source.name
    }
    yield await collect(rows, read, report)
  }
  if (source === undefined) throw new ImportRefused('the file is empty: not even a line with the columns')
}

function bookOfRow(
  { cells, isMalformed }: Row,
  source: CsvSource,
  width: number,
  report: ImportReport,
): NewBook | FieldFault {
  if (isMalformed) return { field: null, reason: 'a quote stands where none may be, or is not closed' }
  if (cells.length !== width) {
    return { field: null, reason: `has ${cells.length} fields, and the first line has ${width}` }
  }
  const values = source.read(cells)
  if (values.year !== undefined || !source.mayLackYear) return bookOf(values)
  report.withoutYear++
  return bookOf({ ...values, year: 0 })
}

async function* fromNdjson(
  bytes: AsyncIterable<Uint8Array>,
  report: ImportReport,
): AsyncGenerator<NewBook[], void> {
  report.source = 'this service'
  for await (const group of lines(bytes)) yield await collect(group, bookOfLine, report)
}

function bookOfLine({ text }: Line): NewBook | FieldFault {
  // Nothing else that is no object is parsed: errors, and deep nesting, take long.
  if (!text.trimStart().startsWith('{')) return { field: null, reason: 'is no JSON object' }
  if (text.length > MAX_STRUCTURE && structureOf(text) > MAX_STRUCTURE) {
    return { field: null, reason: `has more than ${MAX_STRUCTURE} characters outside its texts` }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { field: null, reason: 'is no JSON' }
  }
  const { title, author, year } = value as Record<string, unknown>
  return bookOf({ title, author, year })
}

/** How many characters of a JSON text are outside its strings, their quotes included. */
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
 * Checks rows, counts them, and notes what is wrong with the bad ones.
 * @throws ImportRefused when there are too many of these.
 */
async function collect<Each extends { readonly line: number }>(
  rows: readonly Each[],
  read: (row: Each) => NewBook | FieldFault,
  report: ImportReport,
): Promise<NewBook[]> {
  const books: NewBook[] = []
  let begin = performance.now()
  for (const [index, row] of rows.entries()) {
    if (index % ROWS === 0 && performance.now() - begin > TURN) {
      await setImmediate()
      begin = performance.now()
    }
    const result = read(row)
    report.rows++
    if (!isFault(result)) books.push(result)
    else {
      report.add({ line: row.line, ...result })
      if (report.faulty === MAX_FAULTY) throw new ImportRefused(report.summary)
    }
  }
  return books
}
