/** What is wrong with a row of a file. */
export interface RowFault {
  /** Where the row begins, from 1. */
  readonly line: number
  /** The field of the book, or null if it is the row as a whole. */
  readonly field: 'title' | 'author' | 'year' | null
  readonly reason: string
}

/** Faults that are kept; the others are only counted. */
export const MAX_FAULTS = 100

/** Rows with faults after which no more of a file is read. */
export const MAX_FAULTY = 10_000

/** What was found in a file: to be read when all of it has been read. */
export class ImportReport {
  /** Rows that should be books, good and bad. */
  rows = 0
  /** Rows that cannot be stored. */
  faulty = 0
  /** The first of their faults, one for each row. */
  readonly faults: RowFault[] = []
  /** Books of a foreign file whose year is unknown. They get the year 0. */
  withoutYear = 0
  /** Whose file it is. */
  source = ''

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

/** Thrown when a file has anything wrong; nothing of it is stored then. The message is one line, for its user. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused'
}
