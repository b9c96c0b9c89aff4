import Type from 'typebox'

const exampleBook = { id: 1, title: 'The Left Hand of Darkness', author: 'Ursula K. Le Guin', year: 1969 }
const { id: _assigned, ...exampleFields } = exampleBook

export const BookId = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Assigned by the service, never used again after the book is deleted.',
})

/** Any well-formed Unicode except NUL: under the `u` flag the surrogate range matches lone surrogates only. */
const Text = (description: string) => Type.String({ pattern: '^[^\\u0000\\uD800-\\uDFFF]*$', description })

const fields = {
  title: Text('May be empty.'),
  author: Text('May be empty.'),
  year: Type.Integer({
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Negative years are fine.',
  }),
}

/** A stored book (contract §2). */
export const Book = Type.Object({ id: BookId, ...fields }, { $id: 'Book', examples: [exampleBook] })
export type Book = Type.Static<typeof Book>

/** What a client sends to create a book: every field but `id`. Unknown fields are ignored. */
export const NewBook = Type.Object(fields, { $id: 'NewBook', examples: [exampleFields] })
export type NewBook = Type.Static<typeof NewBook>

/** What a client sends to change a book: the fields to replace; absent ones keep their value (§4 rule 2). */
export const BookChanges = Type.Partial(NewBook, {
  $id: 'BookChanges',
  examples: [{ year: exampleFields.year }],
})
export type BookChanges = Type.Static<typeof BookChanges>

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
