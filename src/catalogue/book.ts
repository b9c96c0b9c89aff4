import { objectSchema, partialSchema, type Schema } from './json-schema.ts'

const exampleBook = { id: 1, title: 'The Left Hand of Darkness', author: 'Ursula K. Le Guin', year: 1969 }
const { id: _assigned, ...exampleFields } = exampleBook

export const BookId: Schema = {
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Assigned by the service, never used again after the book is deleted.',
}

/** Any well-formed Unicode except NUL: under the `u` flag the surrogate range matches lone surrogates only. */
const text = (description: string): Schema => ({
  type: 'string',
  pattern: '^[^\\u0000\\uD800-\\uDFFF]*$',
  description,
})

const fields = {
  title: text('May be empty.'),
  author: text('May be empty.'),
  year: {
    type: 'integer',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Negative years are fine.',
  },
} as const

/**
 * Bytes that a book may have as JSON, without its id. A request's body may have as many, so that every book can be
 * sent; no other way in takes a longer one.
 */
export const MAX_BOOK_SIZE = 1024 * 1024

/** What a client sends to create a book: every field but `id`. Unknown fields are ignored. */
export interface NewBook {
  readonly title: string
  readonly author: string
  readonly year: number
}
export const NewBook = objectSchema<NewBook>(fields, { $id: 'NewBook', examples: [exampleFields] })

/** A stored book (contract §2). */
export interface Book extends NewBook {
  readonly id: number
}
export const Book = objectSchema<Book>({ id: BookId, ...fields }, { $id: 'Book', examples: [exampleBook] })

/** What a client sends to change a book: the fields to replace; absent ones keep their value (§4 rule 2). */
export type BookChanges = Partial<NewBook>
export const BookChanges = partialSchema<NewBook>(fields, {
  $id: 'BookChanges',
  examples: [{ year: exampleFields.year }],
})

/**
 * Reads a book identifier as it stands in the request target.
 * @returns the id, or undefined for anything but a canonical decimal integer from 1 to 2^53−1
 *   (`abc`, `01`, `+1`, `1.0`, `%31`, …), which no book can have.
 */
export function parseBookId(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return id <= Number.MAX_SAFE_INTEGER ? id : undefined
}
