import { COLUMNS, FIELD_NAMES } from '../catalogue/book.ts'
import type { Page } from '../catalogue/store.ts'
import type { Format } from './formats.ts'

/** How a spreadsheet tells a formula (OWASP, CSV Injection), after apostrophes that may be there already. */
const FORMULA = "'*[=+\\-@\\t\\r\\n＝＋－＠]"

/** Where a cell may begin: also within a text, because many spreadsheets separate cells by semicolons. */
const BEGIN = '(?<=^|[;\\t\\r\\n])'

const UNGUARDED = new RegExp(`${BEGIN}(?=${FORMULA})`, 'g')
const GUARDED = new RegExp(`${BEGIN}'(?=${FORMULA})`, 'g')

/** The column of ids in a file for spreadsheets. By its name an import knows that formulas are guarded. */
export const ID_COLUMN = 'book-catalogue id'

/** Puts an apostrophe before each formula, so that a spreadsheet takes it for text. */
export const guarded = (text: string) => text.replace(UNGUARDED, "'")

/** The text that was guarded. */
export const unguarded = (text: string) => text.replace(GUARDED, '')

/** How pages of books become one text. */
export interface Framing {
  /** Texts before, between and after the pages. Without a page, `head` and `tail` are all. */
  readonly head: string
  readonly between: string
  readonly tail: string
  render(page: Page): string
}

/** The kinds of files: one for each format, and CSV for spreadsheets, which know UTF-8 by a byte order mark. */
export type FileKind = Format | 'spreadsheet'

/** Ends a line of CSV (RFC 4180 §2.1). */
const CRLF = '\r\n'

/** Characters that require quotes around a field (RFC 4180 §2.6). */
const NEEDS_QUOTES = /[",\r\n]/

const SPREADSHEET_HEAD = `\ufeff${[ID_COLUMN, ...FIELD_NAMES].join(',')}${CRLF}`

export const framings: Readonly<Record<FileKind, Framing>> = {
  csv: {
    head: COLUMNS.join(',') + CRLF,
    between: '',
    tail: '',
    render: (page) => csvOf(page, quoted),
  },
  ndjson: { head: '', between: '', tail: '', render: ndjsonOf },
  spreadsheet: {
    head: SPREADSHEET_HEAD,
    between: '',
    tail: '',
    render: (page) => csvOf(page, (text) => quoted(guarded(text))),
  },
}

function ndjsonOf(page: Page): string {
  const lines = page.lines()
  return lines && `${lines}\n`
}

/** @param quote makes a field of a text. */
function csvOf(page: Page, quote: (text: string) => string): string {
  let csv = ''
  for (const row of page.rows()) {
    let line = ''
    for (const value of row)
      line += `${line && ','}${typeof value === 'string' ? quote(value) : (value ?? '')}`
    csv += line + CRLF
  }
  return csv
}

/** A text that needs no quotes stays as it is, with outer spaces and formulas (RFC 4180 §2.4). */
function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
