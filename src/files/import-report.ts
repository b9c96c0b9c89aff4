import type { FieldFault } from '../catalogue/book.ts'

/** A fault of a row of a file. */
export interface RowFault extends FieldFault {
  /** Where the row begins, from 1. */
  readonly line: number
}

/** Faults that are kept. Others are only counted. */
export const MAX_FAULTS = 100

/** Reading stops after this many faulty rows. */
export const MAX_FAULTY = 10_000

/** Findings about a file, complete once all of it has been read. */
export class ImportReport {
  /** Rows that should be books, good and bad. */
  rows = 0
  /** Rows after the first line whose cells are all blank. They are no rows: spreadsheets leave them of what was deleted. */
  empty = 0
  /** Rows that cannot be stored. */
  faulty = 0
  /** The first of their faults, one for each row. */
  readonly faults: RowFault[] = []
  /** Books of a foreign file whose year is unknown. They get the year 0. */
  withoutYear = 0
  /** The program that wrote the file. */
  source = ''
  /** The encoding of the file, as the WHATWG Encoding Standard names it. */
  encoding = 'utf-8'
  /** Whether bytes that are no character in it were found so far. The text has U+FFFD instead. */
  hasInvalidBytes = false

  add(fault: RowFault): void {
    this.faulty++
    if (this.faults.length < MAX_FAULTS) this.faults.push(fault)
  }

  /** The faults in one line. */
  get summary(): string {
    const [first] = this.faults
    if (first === undefined) return 'no row is faulty'
    const field = first.field === null ? '' : ` ${first.field}:`
    return `${this.faulty} of ${this.rows} rows cannot be stored; line ${first.line}:${field} ${first.reason}`
  }
}

/** The file has a fault, and nothing of it is stored. The message is one line, for the user. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused'
  /** Values of the option `columns` with one of which the user can do what the message says at its end. */
  readonly columns: readonly string[]

  constructor(message: string, { columns = [], ...options }: ErrorOptions & { columns?: string[] } = {}) {
    super(message, options)
    this.columns = columns
  }

  /** The message with the option as users give it. */
  worded(option: (columns: string) => string): string {
    return this.message + (this.columns.length > 0 ? ` with ${this.columns.map(option).join(' or ')}` : '')
  }
}

/** Rows of the file cannot be stored. The report has their faults. */
export class FaultyRows extends ImportRefused {}
