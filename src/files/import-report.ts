import { FIELD_FAULTS, FIELD_NAMES, type FieldName } from '../catalogue/book.ts'

export const FAULT_CODES = [
  ...FIELD_FAULTS,
  /** Bytes that are invalid in the encoding of the file. */
  'invalid_bytes',
  'misplaced_quote',
  'wrong_field_count',
  /** Not a JSON object. */
  'not_json',
  'too_complex',
  /** In the line of the column names, or else the first one: a field has no column, or more than one. */
  'columns',
] as const

/** A fault of a row. Programs read the code, people the reason. */
export interface RowFault {
  /** Where the row begins, from 1. */
  readonly line: number
  /** Null if the whole row is at fault. */
  readonly field: FieldName | null
  readonly code: (typeof FAULT_CODES)[number]
  readonly reason: string
}

/** Further faults are only counted. */
export const MAX_FAULTS = 100

/** Reading stops after this many faulty rows. */
export const MAX_FAULTY = 10_000

/** Null means that no column was found. */
export type FoundColumns = { readonly [Name in FieldName]: string | null }

/** Findings about a file, complete once all of it has been read. */
export class ImportReport {
  /** Rows that should be books, valid and faulty. */
  rows = 0
  /** Rows below the first line with only blank cells, as spreadsheets leave for deleted rows. Not in `rows`. */
  empty = 0
  faulty = 0
  /** The first MAX_FAULTS faults, one for each faulty row. */
  readonly faults: RowFault[] = []
  /** Books from other programs whose year is unknown. They get the year 0. */
  withoutYear = 0
  /** The program that wrote the file. */
  source = ''
  /** In JSON, the fields have their own names. */
  columns = Object.fromEntries(FIELD_NAMES.map((name) => [name, name])) as FoundColumns
  /** The name in the WHATWG Encoding Standard. */
  encoding = 'utf-8'
  /** Whether the file had invalid bytes so far, for which the text has U+FFFD. */
  hasInvalidBytes = false
  /** Of a CSV file: the names or numbers of the columns, and the beginnings of the cells in the first rows. */
  readonly preview: (readonly string[])[] = []

  add(fault: RowFault): void {
    this.faulty++
    if (this.faults.length < MAX_FAULTS) this.faults.push(fault)
  }

  get summary(): string {
    const [first] = this.faults
    if (first === undefined) return 'no row is faulty'
    const field = first.field === null ? '' : ` ${first.field}:`
    return `${this.faulty} of ${this.rows} rows cannot be stored; line ${first.line}:${field} ${first.reason}`
  }
}

/** Nothing of the file is stored. The message is one line for the user. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused'
  /** Alternative values of the option `columns` for what the message asks of the user at its end. */
  readonly columns: readonly string[]

  constructor(
    message: string,
    { columns = [], ...options }: ErrorOptions & { columns?: readonly string[] } = {},
  ) {
    super(message, options)
    this.columns = columns
  }

  /** @returns the message with these values. @param option writes one as the user has to give it. */
  worded(option: (columns: string) => string): string {
    return this.message + (this.columns.length > 0 ? ` with ${this.columns.map(option).join(' or ')}` : '')
  }
}

/** Rows cannot be stored. The report has their faults. */
export class FaultyRows extends ImportRefused {}

/** A field has no column, or more than one. The report has those that were found, and the preview. */
export class ColumnsRefused extends ImportRefused {
  /** The line of the column names, or else the first one, from 1. */
  readonly line: number

  constructor(line: number, { message, columns }: ColumnFault) {
    super(message, { columns })
    this.line = line
  }
}

/** Why it is not clear which columns hold the fields. */
export type ColumnFault = Pick<ImportRefused, 'message' | 'columns'>
