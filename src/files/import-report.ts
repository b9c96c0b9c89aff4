import { FIELD_FAULTS, FIELD_NAMES, type FieldName } from '../catalogue/book.ts'

/** What can be wrong with a row of a file. */
export const FAULTS = [
  ...FIELD_FAULTS,
  /** It has bytes that are no character of its encoding. */
  'invalid_bytes',
  'misplaced_quote',
  'wrong_field_count',
  /** It is not a JSON object. */
  'not_json',
  'too_complex',
  /** It is the line of the column names: a field has no column, or more than one. */
  'columns',
] as const

/** A fault of a row of a file. */
export interface RowFault {
  /** Where the row begins, from 1. */
  readonly line: number
  /** Null if the whole row is at fault. */
  readonly field: FieldName | null
  /** For programs. */
  readonly code: (typeof FAULTS)[number]
  /** For people. */
  readonly reason: string
}

/** Faults that are kept. Others are only counted. */
export const MAX_FAULTS = 100

/** Reading stops after this many faulty rows. */
export const MAX_FAULTY = 10_000

/** The name of the column of each field; null if none was found. */
export type FoundColumns = { readonly [Name in FieldName]: string | null }

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
  /** Where the fields are: in JSON, under their own names. */
  columns = Object.fromEntries(FIELD_NAMES.map((name) => [name, name])) as FoundColumns
  /** The encoding of the file, as the WHATWG Encoding Standard names it. */
  encoding = 'utf-8'
  /** Whether bytes that are no character in it were found so far. The text has U+FFFD instead. */
  hasInvalidBytes = false
  /** The first line of a CSV file, and the beginnings of the cells in the first rows. */
  readonly preview: (readonly string[])[] = []

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

  constructor(
    message: string,
    { columns = [], ...options }: ErrorOptions & { columns?: readonly string[] } = {},
  ) {
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

/** A field has no column, or more than one. The report has those that were found, and the preview. */
export class ColumnsRefused extends ImportRefused {
  /** That of the column names, from 1. */
  readonly line: number

  constructor(line: number, { message, columns }: ColumnFault) {
    super(message, { columns })
    this.line = line
  }
}

/** Why the columns of a file are not clear. */
export type ColumnFault = Pick<ImportRefused, 'message' | 'columns'>
