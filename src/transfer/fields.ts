import { MAX_BOOK_SIZE, type NewBook } from '../catalogue/book.ts'

type Field = keyof NewBook

/** Why a row is no book. */
export interface FieldFault {
  readonly field: Field | null
  readonly reason: string
}

/** Bytes of JSON that a UTF-16 code unit takes at most, as in \u0001. */
const UNIT_SIZE = 6
/** More bytes than everything but the texts takes. */
const MAX_FRAME = 100

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

function isTooLong({ title, author, year }: NewBook): boolean {
  if (UNIT_SIZE * (title.length + author.length) + MAX_FRAME <= MAX_BOOK_SIZE) return false
  const frame = JSON.stringify({ title: '', author: '', year }).length
  return sizeOf(title) + sizeOf(author) + frame > MAX_BOOK_SIZE
}

/** The bytes of a text as JSON, without its quotes. They are counted, because a copy of a long text takes memory. */
function sizeOf(text: string): number {
  let size = Buffer.byteLength(text)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 0x22 || unit === 0x5c || (unit >= 0x08 && unit <= 0x0d && unit !== 0x0b)) size++
    else if (unit < 0x20) size += 5
  }
  return size
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
