import { MAX_BOOK_SIZE, type NewBook } from '../book.ts'

type Field = keyof NewBook

/** Why a row is no book. */
export interface FieldFault {
  readonly field: Field | null
  readonly reason: string
}

/** Bytes of JSON that a UTF-16 code unit takes at most, as in \u0001; and those that everything but the texts takes. */
const [UNIT_SIZE, FRAME_SIZE] = [6, 100]

const YEAR = 'is no whole number within ±9007199254740991'

/**
 * The rules of POST /book (§2), for a row of a file.
 * @param values of any kind.
 * @returns the book, without anything else that the values have, or what is wrong with the first bad field.
 */
export function bookOf(values: Readonly<Record<Field, unknown>>): NewBook | FieldFault {
  const { title, author, year } = values
  const reason = textFault(title)
  if (reason !== undefined) return { field: 'title', reason }
  const authorReason = textFault(author)
  if (authorReason !== undefined) return { field: 'author', reason: authorReason }
  if (year === undefined) return { field: 'year', reason: 'is missing' }
  if (!Number.isSafeInteger(year)) return { field: 'year', reason: YEAR }
  const book = { title: title as string, author: author as string, year: (year as number) + 0 }
  if (!isTooLong(book)) return book
  const field = book.title.length >= book.author.length ? 'title' : 'author'
  return { field, reason: `is too long: as JSON, a book has at most ${MAX_BOOK_SIZE} bytes` }
}

export function isFault(result: NewBook | FieldFault): result is FieldFault {
  return 'reason' in result
}

function isTooLong(book: NewBook): boolean {
  const atMost = UNIT_SIZE * (book.title.length + book.author.length) + FRAME_SIZE
  return atMost > MAX_BOOK_SIZE && Buffer.byteLength(JSON.stringify(book)) > MAX_BOOK_SIZE
}

/** @returns NaN for anything but a whole number in decimal digits; spaces around it do not matter. */
export function parseYear(text: string): number {
  return /^\s*[-+]?\d+\s*$/.test(text) ? Number(text) : Number.NaN
}

function textFault(value: unknown): string | undefined {
  if (value === undefined) return 'is missing'
  if (typeof value !== 'string') return 'is no text'
  if (value.includes('\0')) return 'has a NUL character'
  return value.isWellFormed() ? undefined : 'is no well-formed Unicode'
}
