import { COLUMNS, FIELD_NAMES } from '../catalogue/book.ts'
import type { Page } from '../catalogue/store.ts'
import type { Format } from './formats.ts'

/** How a formula begins for a spreadsheet (OWASP, CSV Injection), perhaps after apostrophes of the text itself. */
const FORMULA = "'*[=+\\-@\\t\\r\\n＝＋－＠]"

/** Where a cell may begin: also within a text, because many spreadsheets separate cells by semicolons. */
const BEGIN = '(?<=^|[;\\t\\r\\n])'

const UNGUARDED = new RegExp(`${BEGIN}(?=${FORMULA})`, 'g')
const GUARDED = new RegExp(`${BEGIN}'(?=${FORMULA})`, 'g')

/** The column of ids in CSV for spreadsheets. By this name, an import knows that formulas are guarded. */
export const ID_COLUMN = 'book-catalogue id'

/** Puts an apostrophe before each formula, so that a spreadsheet treats it as text. */
export const guarded = (text: string) => text.replace(UNGUARDED, "'")

/** The reverse of `guarded()`. */
export const unguarded = (text: string) => text.replace(GUARDED, '')

/** How pages of books are joined into one text. */
export interface Framing {
  /** Texts before, between and after the pages. Without a page, the text is `head` and `tail`. */
  readonly head: string
  readonly between: string
  readonly tail: string
  render(page: Page): string
}

/** CSV for spreadsheets has a byte order mark, by which they recognise UTF-8. */
export type FileKind = Format | 'spreadsheet'

/** RFC 4180 §2.1. */
const CRLF = '\r\n'

/** RFC 4180 §2.6. */
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

/** @param quote turns a text into a field. */
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

/** Keeps a text that needs no quotes as it is, with outer spaces and formulas (RFC 4180 §2.4). */
function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
