import { ImportRefused } from './import-report.ts'

/** A row of a CSV file. */
export interface CsvRow {
  /** Where it begins, from 1. */
  readonly line: number
  readonly cells: readonly string[]
  /** Whether a quote is misplaced or not closed. */
  readonly isMalformed: boolean
  /** Whether such a quote may have joined it with rows that follow. */
  readonly mayContainRows: boolean
}

/** UTF-16 code units that a row may have. That is twice as many as a book, because some columns may be ignored. */
export const MAX_ROW = 2 * 1024 * 1024

/** More than any program exports. */
const MAX_CELLS = 1000

const QUOTE = 0x22
const LF = 0x0a
const CR = 0x0d

/** The parser's position in a field. */
type State = 'start' | 'plain' | 'quoted' | 'closed'

/**
 * Parses the rows of a CSV file (RFC 4180) that arrives in parts. It reads each part only once, so the time is linear
 * in the length of the file. Each line ends with CR LF, LF or CR, because tools append lines that end in another way.
 * Within quotes these characters are data. A quote within an unquoted field is an ordinary character. White space after
 * a closing quote is ignored. An empty line is a row of one empty field.
 */
export class CsvParser {
  /** Programs that write tabs do not quote fields, and do not double quotes in them. */
  readonly #isTabular: boolean
  readonly #delimiter: string
  /** The end of the last part, if its meaning depends on what follows. */
  #rest = ''
  /** The line that the parser has reached, and the one on which the row begins. */
  #line = 1
  #begin = 1
  /** The unfinished row: its length in earlier parts, its complete fields, and the beginning of the next field. */
  #length = 0
  #cells: string[] = []
  #field = ''
  #state: State = 'start'
  #isMalformed = false

  /** @param delimiter the character between two fields. */
  constructor(delimiter: string) {
    this.#isTabular = delimiter === '\t'
    this.#delimiter = delimiter
  }

  /**
   * @param isEnd whether this is the last part.
   * @returns the rows that are complete now.
   * @throws ImportRefused for a row that is too long or has too many fields.
   */
  push(part: string, isEnd: boolean): CsvRow[] {
    const all = this.#rest + part
    // It may be half of a line break.
    const isCut = !isEnd && all.endsWith('\r')
    const text = isCut ? all.slice(0, -1) : all
    const nextDelimiter = finder(text, this.#delimiter)
    const nextNewline = nearer(finder(text, '\n'), finder(text, '\r'))
    const nextQuote = this.#isTabular ? () => text.length : finder(text, '"')
    const rows: CsvRow[] = []
    let at = 0
    let start = 0
    const endRow = (newline: number) => {
      const isPair = text.charCodeAt(newline) === CR && text.charCodeAt(newline + 1) === LF
      rows.push(this.#takeRow(this.#line + 1))
      start = at = newline + (isPair ? 2 : 1)
    }
    reading: while (at < text.length) {
      switch (this.#state) {
        case 'start': {
          if (nextQuote(at) === at) {
            this.#state = 'quoted'
            at++
            break
          }
          const end = nextNewline(at)
          if (this.#cells.length === 0 && end < text.length && nextQuote(at) > end) {
            // Most rows are complete and have no quotes.
            this.#cells = text.slice(at, end).split(this.#delimiter, MAX_CELLS + 1)
            this.#field = this.#cells.pop() ?? ''
            endRow(end)
          } else this.#state = 'plain'
          break
        }
        case 'plain': {
          const newline = nextNewline(at)
          const end = Math.min(nextDelimiter(at), newline)
          this.#field += text.slice(at, end)
          at = end
          if (end === text.length) break
          if (end === newline) endRow(end)
          else {
            this.#endField()
            at++
          }
          break
        }
        case 'quoted': {
          let end = nextQuote(at)
          const first = end
          while (text.charCodeAt(end + 1) === QUOTE) end = nextQuote(end + 2)
          const part = text.slice(at, end)
          this.#field += end === first ? part : halved(part)
          if (nextNewline(at) < end) this.#line += lineBreaks(part)
          at = end
          if (end === text.length) break
          // It may be the first of two.
          if (end + 1 === text.length && !isEnd) break reading
          this.#state = 'closed'
          at++
          break
        }
        case 'closed':
          if (nextNewline(at) === at) endRow(at)
          else if (nextDelimiter(at) === at) {
            this.#endField()
            at++
          } else if (/\s/.test(text.charAt(at))) at++
          else {
            this.#isMalformed = true
            this.#state = 'quoted'
          }
      }
    }
    this.#length += at - start
    this.#rest = all.slice(at)
    if (isEnd && (this.#cells.length > 0 || this.#state !== 'start')) {
      this.#isMalformed ||= this.#state === 'quoted'
      rows.push(this.#takeRow(this.#line))
    }
    if (this.#length > MAX_ROW) throw this.#refusal('is too long; is a closing quotation mark missing?')
    return rows
  }

  #endField(): void {
    this.#cells.push(this.#field)
    this.#field = ''
    this.#state = 'start'
    if (this.#cells.length > MAX_CELLS) throw this.#refusal(`has more than ${MAX_CELLS} fields`)
  }

  /** Ends the row. @param next the line that is reached then. */
  #takeRow(next: number): CsvRow {
    this.#endField()
    const cells = this.#isTabular ? this.#cells.map(unquoted) : this.#cells
    const isMalformed = this.#isMalformed
    const mayContainRows = isMalformed && this.#line > this.#begin
    const row = { line: this.#begin, cells, isMalformed, mayContainRows }
    this.#begin = this.#line = next
    this.#length = 0
    this.#cells = []
    this.#isMalformed = false
    return row
  }

  #refusal(reason: string): ImportRefused {
    return new ImportRefused(`line ${this.#begin}: the row ${reason}`)
  }
}

type Finder = (from: number) => number

/**
 * @returns a function that finds the next occurrence at or after a position, or else returns the length of the text.
 * The positions must ascend, so the text is searched only once.
 */
function finder(text: string, what: string): Finder {
  let found = -1
  return (from) => {
    if (found < from) {
      const index = text.indexOf(what, from)
      found = index === -1 ? text.length : index
    }
    return found
  }
}

/** The same for the nearer one of two. */
function nearer(one: Finder, other: Finder): Finder {
  let found = -1
  return (from) => {
    if (found < from) found = Math.min(one(from), other(from))
    return found
  }
}

const lineBreaks = (text: string) => text.match(/\r\n|\r|\n/g)?.length ?? 0

/** Spreadsheets quote fields even with tabs. */
function unquoted(cell: string): string {
  if (cell.length < 2 || !cell.startsWith('"') || !cell.endsWith('"')) return cell
  const text = cell.slice(1, -1)
  if (!text.includes('"')) return text
  // In parts, because each pair of quotes becomes an object for a while.
  const parts = text.match(/(?:[^"]|""){1,10000}/g) ?? []
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return length === text.length ? parts.map(halved).join('') : cell
}

/** @param text in which all quotes are doubled. With many of them, replaceAll() takes 20 times as long. */
function halved(text: string): string {
  return text.split('""').join('"')
}
