import Papa from 'papaparse'
import { decode } from './decode.ts'
import { ImportRefused } from './import-report.ts'

/** A row of a CSV file. */
export interface Row {
  /** Where it begins, from 1. */
  readonly line: number
  readonly cells: readonly string[]
  /** Whether a quote in it stands where none may be. */
  readonly isMalformed: boolean
}

/** UTF-16 code units that a row may have: more than the limit of a request's body allows a book, all its quotes doubled. */
const MAX_ROW = 4 * 1024 * 1024

/**
 * The rows of a file of comma or tab separated values, the header first, in the groups in which they arrive. Lines
 * end as the first one does, with CR LF or LF. Empty lines are passed over.
 * @throws ImportRefused for a row that is too long, as after a quote that is never closed.
 */
export async function* csvRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Row[], void> {
  let parser: RowParser | undefined
  let rest = ''
  for await (const text of decode(bytes)) {
    rest += text
    // The header decides on how the others are read, so its line has to be there whole.
    if (parser === undefined && !rest.includes('\n')) continue
    parser ??= new RowParser(rest)
    const { rows, length } = parser.parse(rest, false)
    if (rows.length > 0) yield rows
    rest = rest.slice(length)
    if (rest.length > MAX_ROW) {
      throw new ImportRefused(`line ${parser.line}: the row is too long; is a quote not closed?`)
    }
  }
  parser ??= new RowParser(rest)
  const { rows } = parser.parse(rest, true)
  if (rows.length > 0) yield rows
}

class RowParser {
  readonly #parser: Papa.Parser
  readonly #isTabular: boolean
  /** That of the next row. */
  line = 1

  /** @param start of the file, with the first line. */
  constructor(start: string) {
    const end = start.indexOf('\n')
    const header = end === -1 ? start : start.slice(0, end)
    this.#isTabular = header.includes('\t')
    this.#parser = new Papa.Parser({
      delimiter: this.#isTabular ? '\t' : ',',
      newline: header.endsWith('\r') ? '\r\n' : '\n',
      // Programs that write tabs put no quotes around a field, and do not double those in it.
      ...(this.#isTabular && { fastMode: true }),
    })
  }

  /** @returns the rows that are complete, and the length of their text. */
  parse(text: string, isEnd: boolean): { rows: Row[]; length: number } {
    const { data, errors, meta } = this.#parser.parse(text, 0, !isEnd) as Papa.ParseResult<string[]>
    // Without quotes no row has more than one line.
    const isSimple = this.#isTabular || !text.includes('"')
    const malformed = new Set(errors.map(({ row }) => row))
    const rows: Row[] = []
    for (const [index, cells] of data.entries()) {
      if (cells.length > 1 || cells[0] !== '') {
        rows.push({
          line: this.line,
          cells: this.#isTabular ? cells.map(unquoted) : cells,
          isMalformed: malformed.has(index),
        })
      }
      this.line += isSimple ? 1 : 1 + lineBreaks(cells)
    }
    return { rows, length: meta.cursor }
  }
}

function lineBreaks(cells: readonly string[]): number {
  let count = 0
  for (const cell of cells) {
    for (let at = cell.indexOf('\n'); at !== -1; at = cell.indexOf('\n', at + 1)) count++
  }
  return count
}

/** A spreadsheet does put quotes around a field. */
function unquoted(cell: string): string {
  return /^"(?:[^"]|"")*"$/.test(cell) ? cell.slice(1, -1).replaceAll('""', '"') : cell
}
