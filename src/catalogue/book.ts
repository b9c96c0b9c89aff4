import { objectSchema, partialSchema, type Schema } from './json-schema.ts'
import { quoted } from './quoted.ts'

/** What a client sends to create a book: every field but `id`. Unknown fields are ignored. */
export interface NewBook {
  readonly title: string
  readonly author: string
  readonly year: number
}

/** A stored book (contract §2). */
export interface Book extends NewBook {
  readonly id: number
}

/** What a client sends to change a book: the fields to replace; absent ones keep their value (§4 rule 2). */
export type BookChanges = Partial<NewBook>

interface Field {
  readonly schema: Schema
  /** Says why a value breaks the rule of the schema, for input without a schema, such as rows of a file. */
  readonly faultOf: (value: unknown) => string | undefined
}

const TEXT: Field = {
  schema: {
    type: 'string',
    // Surrogates only in pairs: also without the `u` flag, which clients that are made from the document may not set.
    pattern: '^(?:[^\\u0000\\uD800-\\uDFFF]|[\\uD800-\\uDBFF][\\uDC00-\\uDFFF])*$',
    description: 'Any well-formed Unicode text without NUL. It may be empty.',
  },
  faultOf(value) {
    if (typeof value !== 'string') return `${quoted(value)} is not text`
    if (value.includes('\0')) return `${quoted(value)} contains a NUL character`
    return value.isWellFormed() ? undefined : `${quoted(value)} is not well-formed Unicode`
  },
}

const YEAR: Field = {
  schema: {
    type: 'integer',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The year may be negative.',
  },
  faultOf: (value) =>
    Number.isSafeInteger(value)
      ? undefined
      : `${quoted(value)} is not a year (a whole number within ±9007199254740991)`,
}

/** The only description of the fields, in column order. Schemas, rules, columns and tags derive from it. */
const FIELDS: Record<keyof NewBook, Field> = { title: TEXT, author: TEXT, year: YEAR }

export const FIELD_NAMES = Object.keys(FIELDS) as readonly (keyof NewBook)[]

/** The columns of a stored book, in SQL and in CSV. */
export const COLUMNS = ['id', ...FIELD_NAMES] as const

/** The text fields. Only the size of the book limits their length. */
export const TEXT_FIELDS = ['title', 'author'] as const
export type TextField = (typeof TEXT_FIELDS)[number]

export function isTextField(name: keyof Book): name is TextField {
  return TEXT_FIELDS.some((text) => text === name)
}

export type FieldValue = NewBook[keyof NewBook]

/** The values of a book in the order of FIELD_NAMES. */
export function fieldValues({ title, author, year }: NewBook): FieldValue[] {
  return [title, author, year]
}

/** A text that differs for books whose fields differ: no text has a NUL. Written out, because every answer needs it. */
export function distinctText({ title, author, year }: NewBook): string {
  return `${title}\0${author}\0${year}`
}

/** The total size of a book's texts, in bytes of UTF-8. */
export function textSize({ title, author }: NewBook): number {
  return Buffer.byteLength(title) + Buffer.byteLength(author)
}

/** The total length of a book's texts, in UTF-16 code units. */
export function textLength({ title, author }: Pick<NewBook, TextField>): number {
  return title.length + author.length
}

/** Has no negative zero, because JSON would not show it. */
const storedYear = (year: number) => year + 0

/**
 * The book as a later read returns it: its fields in the order of COLUMNS, and nothing else. Written out, because lists
 * call it for each book.
 */
export function bookOf({ id, title, author, year }: Book): Book {
  return { id, title, author, year: storedYear(year) }
}

/**
 * The maximum size of a book as JSON without its id, in bytes. Request bodies have the same limit, and no import
 * accepts a longer book.
 */
export const MAX_BOOK_SIZE = 1024 * 1024

/** Upper bound of the JSON around the texts. */
const FRAME_UNITS = 100

/** The most bytes of JSON that a UTF-16 code unit takes, as in \u0001. */
const MAX_UNIT_SIZE = 6

/** Why a row of a file is not a book. The field is null if the whole row is at fault. */
export interface FieldFault {
  readonly field: keyof NewBook | null
  readonly reason: string
}

/**
 * The rules of POST /book (§2) for a row of a file.
 * @param values of any type; unknown fields are ignored.
 * @returns the book, or the fault of the first bad field.
 */
export function validateBook(values: Readonly<Record<string, unknown>>): NewBook | FieldFault {
  for (const field of FIELD_NAMES) {
    const value = values[field]
    const reason = value === undefined ? 'is missing' : FIELDS[field].faultOf(value)
    if (reason !== undefined) return { field, reason }
  }
  const { title, author, year } = values as unknown as NewBook
  const book = { title, author, year: storedYear(year) }
  if (!isTooLong(book)) return book
  const field = book.author.length > book.title.length ? 'author' : 'title'
  return {
    field,
    reason: `${quoted(book[field])} is too long: as JSON, a book has at most ${MAX_BOOK_SIZE} bytes`,
  }
}

export function isFault(result: NewBook | FieldFault): result is FieldFault {
  return 'reason' in result
}

function isTooLong(book: NewBook): boolean {
  if (MAX_UNIT_SIZE * (textLength(book) + FRAME_UNITS) <= MAX_BOOK_SIZE) return false
  const withoutTexts = { ...book, ...Object.fromEntries(TEXT_FIELDS.map((name) => [name, ''])) }
  const texts = TEXT_FIELDS.reduce((sum, name) => sum + jsonSize(book[name]), 0)
  return texts + JSON.stringify(withoutTexts).length > MAX_BOOK_SIZE
}

/** The size of a text as JSON without its quotes, in bytes. Counting avoids a copy, which would take memory. */
function jsonSize(text: string): number {
  let size = Buffer.byteLength(text)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 0x22 || unit === 0x5c || (unit >= 0x08 && unit <= 0x0d && unit !== 0x0b)) size++
    else if (unit < 0x20) size += 5
  }
  return size
}

/**
 * Parses a book identifier from the request target.
 * @returns the id, or undefined if the text is not a canonical decimal integer from 1 to 2^53−1 (`abc`, `01`, `+1`,
 * `1.0`, `%31`, …).
 */
export function parseBookId(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return id <= Number.MAX_SAFE_INTEGER ? id : undefined
}

const EXAMPLE: Book = { id: 1, title: 'The Left Hand of Darkness', author: 'Ursula K. Le Guin', year: 1969 }
const { id: _assigned, ...EXAMPLE_FIELDS } = EXAMPLE

export const BookId: Schema = {
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The id is assigned by the service and not reused after the book is deleted.',
  examples: [EXAMPLE.id],
}

const SCHEMAS = Object.fromEntries(FIELD_NAMES.map((name) => [name, FIELDS[name].schema])) as Record<
  keyof NewBook,
  Schema
>

/** The schemas of the three types. */
export const NewBook = objectSchema<NewBook>(SCHEMAS, { $id: 'NewBook', examples: [EXAMPLE_FIELDS] })
export const Book = objectSchema<Book>({ id: BookId, ...SCHEMAS }, { $id: 'Book', examples: [EXAMPLE] })
export const BookChanges = partialSchema<NewBook>(SCHEMAS, {
  $id: 'BookChanges',
  examples: [{ year: EXAMPLE.year }],
})
