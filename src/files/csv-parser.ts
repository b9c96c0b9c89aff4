import { ImportRefused } from './import-report.ts'

export interface CsvRow {
  /** The line on which the row begins, from 1. */
  readonly line: number
  readonly cells: readonly string[]
  /** The index of the first cell with a quote that is an ordinary character. */
  readonly stray: number | undefined
  /** Whether a quote is misplaced or not closed in a column that is used. */
  readonly isMalformed: boolean
  /** Whether such a quote may have joined the row with following ones. */
  readonly mayContainRows: boolean
}

/**
 * Called with the first row that is not blank, which is the header if the file has one.
 * @returns the indices of the columns that are used.
 */
export type OnHeader = (header: readonly string[], line: number) => ReadonlySet<number>

/** The maximum length of a row in UTF-16 code units: twice that of a book, because some columns may be ignored. */
export const MAX_ROW = 2 * 1024 * 1024

/** More than any program exports. */
const MAX_CELLS = 1000

export const MISPLACED = 'has a quotation mark in the wrong place, or one that is not closed'

const QUOTE = 0x22
const LF = 0x0a
const CR = 0x0d

/** The position in a field. `closed` is after a closing quote. */
type State = 'start' | 'plain' | 'quoted' | 'closed'

/**
 * Parses a CSV file (RFC 4180) that arrives in parts, in time linear in its length.
 * - Each line ends with CR LF, LF or CR, because tools append lines with other line ends. In quotes these are data.
 * - A quote within an unquoted field is an ordinary character. So is one that begins a field of an unused column, if it
 *   is not closed where a field may end.
 * - In a file with tabs, which few programs quote, that holds for all columns, and a quoted field contains no tab.
 * - White space after a closing quote is ignored, and a space before a field's first quote, as after each comma in files
 *   that people write. An empty line is a row of one empty field.
 */
export class CsvParser {
  /** Spreadsheets quote fields also in files with tabs, but most other programs do not. */
  readonly #isTabular: boolean
  readonly #delimiter: string
  readonly #begin: OnHeader
  readonly #hasHeader: boolean
  /** Undefined before the first row. */
  #used: ReadonlySet<number> | undefined
  /** The end of the last part, if its meaning depends on what follows. */
  #rest = ''
  /** The current line, and the lines on which the row and its last quoted field begin. */
  #line = 1
  #rowLine = 1
  #fieldLine = 1
  /** The unfinished row: its length in earlier parts, its complete fields, and the beginning of the next field. */
  #length = 0
  #cells: string[] = []
  #field = ''
  #state: State = 'start'
  /** The raw text, with quotes, of a quoted field in earlier parts, if its column is not used. */
  #raw = ''
  #stray: number | undefined
  #isMalformed = false

  constructor(delimiter: string, begin: OnHeader, hasHeader: boolean) {
    this.#begin = begin
    this.#hasHeader = hasHeader
    this.#isTabular = delimiter === '\t'
    this.#delimiter = delimiter
  }

  /**
   * @returns the rows after the header that are complete now.
   * @throws ImportRefused for a row that is too long or has too many fields, and for a header with a misplaced quote.
   */
  push(part: string, isEnd: boolean): CsvRow[] {
    const all = this.#rest + part
    // The CR may be half of a CR LF.
    const isCut = !isEnd && all.endsWith('\r')
    const text = isCut ? all.slice(0, -1) : all
    const nextDelimiter = finder(text, this.#delimiter)
    const [nextLf, nextCr] = [finder(text, '\n'), finder(text, '\r')]
    const nextNewline: Finder = (from) => Math.min(nextLf(from), nextCr(from))
    const nextQuote = finder(text, '"')
    const rows: CsvRow[] = []
    let at = 0
    let start = 0
    /** Where the last quoted field begins in this part, or -1; and whether its first quote is an ordinary character. */
    let opened = -1
    let isStray = false
    /** @returns whether the field begins in an earlier part, and therefore has to be read again with this one. */
    const readAgain = () => {
      if (opened === -1) return true
      this.#beginAgain()
      at = opened
      return false
    }
    const endRow = (newline: number) => {
      const isPair = text.charCodeAt(newline) === CR && text.charCodeAt(newline + 1) === LF
      const row = this.#takeRow(this.#line + 1)
      if (row !== undefined) rows.push(row)
      start = at = newline + (isPair ? 2 : 1)
    }
    reading: while (at < text.length) {
      switch (this.#state) {
        case 'start': {
          const first = text[at] === ' ' ? at + 1 : at
          if (first === text.length && !isEnd) break reading
          if (text.charCodeAt(first) === QUOTE) {
            this.#state = 'quoted'
            this.#fieldLine = this.#line
            this.#raw = ''
            opened = at
            at = first + 1
            break
          }
          const end = nextNewline(at)
          if (this.#cells.length === 0 && end < text.length && nextQuote(at) > end) {
            // A fast path: most rows are complete and have no quotes.
            this.#cells = text.slice(at, end).split(this.#delimiter, MAX_CELLS + 1)
            this.#field = this.#cells.pop() ?? ''
            endRow(end)
          } else this.#state = 'plain'
          break
        }
        case 'plain': {
          const newline = nextNewline(at)
          const end = Math.min(nextDelimiter(at), newline)
          if (!this.#isTabular && nextQuote(at) < end) this.#stray ??= this.#cells.length
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
          if (this.#isTabular && nextDelimiter(at) < end) {
            isStray = readAgain()
            if (isStray) break reading
            break
          }
          const part = text.slice(at, end)
          this.#field += end === first ? part : halved(part)
          if (nextNewline(at) < end) this.#line += lineBreaks(part)
          at = end
          if (end === text.length) break
          // It may be the first half of a doubled quote.
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
          else if (this.#isStrict()) {
            this.#isMalformed = true
            this.#state = 'quoted'
          } else {
            isStray = readAgain()
            if (isStray) break reading
          }
      }
    }
    this.#length += at - start
    this.#rest = all.slice(at)
    if ((this.#state === 'quoted' || this.#state === 'closed') && !this.#isStrict()) {
      this.#raw += text.slice(Math.max(opened, 0), at)
      isStray ||= this.#state === 'quoted' && (isEnd || this.#length > MAX_ROW)
    }
    if (isStray) {
      this.#rest = this.#raw + this.#rest
      this.#length -= this.#raw.length
      this.#beginAgain()
      return rows.concat(this.push('', isEnd))
    }
    if (isEnd && (this.#cells.length > 0 || this.#state !== 'start')) {
      this.#isMalformed ||= this.#state === 'quoted'
      const row = this.#takeRow(this.#line)
      if (row !== undefined) rows.push(row)
    }
    if (this.#length > MAX_ROW) throw this.#refusal('is too long; is a closing quotation mark missing?')
    return rows
  }

  /** Whether a quote that begins this field has to be closed where a field may end. */
  #isStrict(): boolean {
    return !this.#isTabular && (this.#used?.has(this.#cells.length) ?? true)
  }

  /** Parses a quoted field again, with its first quote as an ordinary character. */
  #beginAgain(): void {
    this.#state = 'plain'
    this.#field = ''
    this.#line = this.#fieldLine
  }

  #endField(): void {
    this.#cells.push(this.#field)
    this.#field = ''
    this.#state = 'start'
    if (this.#cells.length > MAX_CELLS) throw this.#refusal(`has more than ${MAX_CELLS} fields`)
  }

  /** @param next the line after the row. @returns the row, unless it is the header or above it. */
  #takeRow(next: number): CsvRow | undefined {
    this.#endField()
    const cells = this.#cells
    const isMalformed = this.#isMalformed
    const mayContainRows = isMalformed && this.#line > this.#rowLine
    const row = { line: this.#rowLine, cells, stray: this.#stray, isMalformed, mayContainRows }
    this.#rowLine = this.#line = next
    this.#length = 0
    this.#cells = []
    this.#stray = undefined
    this.#isMalformed = false
    if (this.#used !== undefined) return row
    // It may have joined the first row with those below it.
    if (isMalformed)
      throw new ImportRefused(
        `line ${row.line}: the row ${MISPLACED}; correct ${this.#hasHeader ? 'the column names' : 'it'}`,
      )
    if (isEmpty(row)) return undefined
    this.#used = this.#begin(cells, row.line)
    return this.#hasHeader ? undefined : row
  }

  #refusal(reason: string): ImportRefused {
    return new ImportRefused(`line ${this.#rowLine}: the row ${reason}`)
  }
}

export const isBlank = (text: string) => text.trim() === ''

export const isEmpty = ({ cells, isMalformed }: Pick<CsvRow, 'cells' | 'isMalformed'>) =>
  !isMalformed && cells.every(isBlank)

type Finder = (from: number) => number

/**
 * @returns a function that finds the next occurrence at or after a position, or else returns the length of the text. It
 * searches the text only once as long as the positions ascend.
 */
function finder(text: string, what: string): Finder {
  let asked = 0
  let found = -1
  return (from) => {
    if (found < from || from < asked) {
      const index = text.indexOf(what, from)
      found = index === -1 ? text.length : index
    }
    asked = from
    return found
  }
}

const lineBreaks = (text: string) => text.split(/\r\n|\r|\n/).length - 1

/** @param text in which all quotes are doubled. If they are many, replaceAll() takes 20 times as long. */
function halved(text: string): string {
  return text.split('""').join('"')
}
