import { objectSchema, partialSchema, type Schema } from './json-schema.ts'
import { quoted } from './quoted.ts'

interface Field {
  readonly type: 'text' | 'integer'
  /** The field may be absent, and is null then. */
  readonly nullable?: true
  /** Books are searched and sorted by this text: engines store its words and its sort key. */
  readonly indexed?: true
  readonly description?: string
}

/** The only definition of the fields, in column order. Types, schemas, rules, columns and tags derive from it. */
const FIELDS = {
  title: { type: 'text', indexed: true },
  author: { type: 'text', indexed: true },
  year: { type: 'integer', description: 'The year may be negative.' },
} as const satisfies Readonly<Record<string, Field>>

type Fields = typeof FIELDS
export type FieldName = keyof Fields
type NamesWith<Property> = { [Name in FieldName]: Fields[Name] extends Property ? Name : never }[FieldName]
type NullableField = NamesWith<{ nullable: true }>
export type TextField = NamesWith<{ type: 'text' }>
export type IndexedField = NamesWith<{ indexed: true }>
type Value<Name extends FieldName> =
  | (Fields[Name]['type'] extends 'text' ? string : number)
  | (Name extends NullableField ? null : never)

/** What a client sends to create a book: every field but `id`. Unknown fields are ignored. */
export type NewBook = { readonly [Name in Exclude<FieldName, NullableField>]: Value<Name> } & {
  readonly [Name in NullableField]?: Value<Name>
}

/** A stored book (§2). */
export type Book = { readonly id: number } & { readonly [Name in FieldName]: Value<Name> }

/** What a client sends to change a book. Absent fields keep their values (§4 rule 2). */
export type BookChanges = { readonly [Name in FieldName]?: Value<Name> }

export type FieldValue = string | number | null

export const FIELD_NAMES = Object.keys(FIELDS) as readonly FieldName[]

/** The columns of a stored book, in SQL and in CSV. */
export const COLUMNS = ['id', ...FIELD_NAMES] as const

const described = (name: FieldName): Field => FIELDS[name]

export const isNullable = (name: FieldName) => described(name).nullable === true

export const REQUIRED_FIELDS = FIELD_NAMES.filter((name) => !isNullable(name))

const NULLABLE_FIELDS = FIELD_NAMES.filter(isNullable)

export function isTextField(name: FieldName): name is TextField {
  return described(name).type === 'text'
}

/** The length of these texts is limited only by the size of the book. */
export const TEXT_FIELDS = FIELD_NAMES.filter(isTextField)

export function isIndexedField(name: keyof Book): name is IndexedField {
  return name !== 'id' && described(name).indexed === true
}

export const INDEXED_FIELDS = FIELD_NAMES.filter(isIndexedField)

/** @returns the values in the order of FIELD_NAMES. */
export function fieldValues(book: NewBook): FieldValue[] {
  return FIELD_NAMES.map((name) => book[name] ?? null)
}

/** @returns the fields in the order of FIELD_NAMES. */
export function changedFields(changes: BookChanges): FieldName[] {
  return FIELD_NAMES.filter((name) => changes[name] !== undefined)
}

/**
 * @param book texts may also be given as their UTF-8 bytes.
 * @returns a text that is equal only for books with equal fields. NUL separates them, which no field contains.
 */
export function identityText(book: Readonly<Partial<Record<FieldName, unknown>>>): string {
  // Runs for every book that is read, so without arrays.
  let text = ''
  for (const name of REQUIRED_FIELDS) text += `${book[name] ?? ''}\0`
  for (const name of NULLABLE_FIELDS) if (book[name] != null) text += `${name}=${book[name]}\0`
  return text.slice(0, -1)
}

/** The total size of the texts, in bytes of UTF-8. */
export function textSize(book: BookChanges): number {
  return TEXT_FIELDS.reduce((sum, name) => sum + Buffer.byteLength(book[name] ?? ''), 0)
}

/** The total length of the texts, in UTF-16 code units. */
export function textLength(book: BookChanges): number {
  return TEXT_FIELDS.reduce((sum, name) => sum + (book[name]?.length ?? 0), 0)
}

/** @returns the book as later reads return it: its fields in the order of COLUMNS, and no others. */
export function bookOf(values: Pick<Book, 'id'> & NewBook): Book {
  return withFields({ id: values.id }, values) as Book
}

function withFields(target: Record<string, FieldValue>, values: NewBook): unknown {
  for (const name of FIELD_NAMES) target[name] = values[name] ?? null
  return target
}

/**
 * The maximum size of a book as JSON without its id, in bytes. Request bodies have the same limit, so an import accepts
 * no book that `POST /book` would refuse.
 */
export const MAX_BOOK_SIZE = 1024 * 1024

/** Upper bound of the JSON around the texts, in UTF-16 code units. */
const FRAME_UNITS = 100

/** The maximum size of a UTF-16 code unit in JSON, in bytes: an escape such as \u0001. */
const MAX_UNIT_SIZE = 6

/** An invalid character is NUL or a lone surrogate. The longest text is too long if the book exceeds MAX_BOOK_SIZE. */
export const FIELD_FAULTS = ['missing', 'wrong_type', 'invalid_character', 'too_long'] as const

/** Why values are not a book. Programs read the code, people the reason. */
export interface FieldFault {
  readonly field: FieldName
  readonly code: (typeof FIELD_FAULTS)[number]
  readonly reason: string
}

/**
 * Applies the rules of `POST /book` (§2) to a row of a file.
 * @param values of any type; unknown fields are ignored.
 * @returns the book, or the fault of the first invalid field.
 */
export function validateBook(values: Readonly<Record<string, unknown>>): NewBook | FieldFault {
  for (const field of FIELD_NAMES) {
    const fault = faultOf(field, values[field])
    if (fault !== undefined) return { field, ...fault }
  }
  const book = withFields({}, values as unknown as NewBook) as NewBook
  if (!isTooLong(book)) return book
  const lengthOf = (name: TextField) => book[name]?.length ?? 0
  const field = TEXT_FIELDS.reduce((longest, name) => (lengthOf(name) > lengthOf(longest) ? name : longest))
  return {
    field,
    code: 'too_long',
    reason: `${quoted(book[field])} is too long: as JSON, a book has at most ${MAX_BOOK_SIZE} bytes`,
  }
}

function faultOf(name: FieldName, value: unknown): Omit<FieldFault, 'field'> | undefined {
  if (value === undefined || value === null) {
    if (isNullable(name)) return undefined
    if (value === undefined) return { code: 'missing', reason: 'is missing' }
  }
  if (!isTextField(name)) {
    if (Number.isSafeInteger(value)) return undefined
    return { code: 'wrong_type', reason: `${quoted(value)} is ${whyNoInteger(name, value)}` }
  }
  if (typeof value !== 'string') return { code: 'wrong_type', reason: `${quoted(value)} is not text` }
  if (value.includes('\0'))
    return { code: 'invalid_character', reason: `${quoted(value)} contains a NUL character` }
  if (value.isWellFormed()) return undefined
  return { code: 'invalid_character', reason: `${quoted(value)} is not well-formed Unicode` }
}

function whyNoInteger(name: FieldName, value: unknown): string {
  // An object of JSON may have a `toString` of its own, which is no function.
  const number = typeof value === 'object' ? Number.NaN : Number(value)
  if (Math.abs(number) > Number.MAX_SAFE_INTEGER) return `too large for a ${name}`
  // In CSV, this text would be a number.
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return 'text, not a number'
  return `not a ${name} (a whole number such as 1979 or -500)`
}

export function isFault<Fault extends { readonly reason: string }>(result: NewBook | Fault): result is Fault {
  return 'reason' in result
}

function isTooLong(book: NewBook): boolean {
  const mayBe = MAX_UNIT_SIZE * (textLength(book) + FRAME_UNITS) > MAX_BOOK_SIZE
  return mayBe && Buffer.byteLength(JSON.stringify(book)) > MAX_BOOK_SIZE
}

/**
 * @returns the id in a request target, or undefined if the text is not a canonical decimal integer from 1 to 2^53−1
 * (`abc`, `01`, `+1`, `1.0`, `%31`, …).
 */
export function parseBookId(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return id <= Number.MAX_SAFE_INTEGER ? id : undefined
}

/** The book in the examples of the OpenAPI document. */
export const EXAMPLE: NewBook = {
  title: 'The Left Hand of Darkness',
  author: 'Ursula K. Le Guin',
  year: 1969,
}
const EXAMPLE_ID = 1

export const BookId: Schema = {
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The id is assigned by the service and not reused after the book is deleted.',
  examples: [EXAMPLE_ID],
}

/** `faultOf()` checks the same rules. */
const TYPES = {
  text: {
    type: 'string',
    // Accepts surrogates only in pairs, also without the flag `u`, which generated clients may not set.
    pattern: '^(?:[^\\u0000\\uD800-\\uDFFF]|[\\uD800-\\uDBFF][\\uDC00-\\uDFFF])*$',
    description: 'Any well-formed Unicode text without NUL. It may be empty.',
  },
  integer: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
} as const satisfies Readonly<Record<Field['type'], Schema>>

function schemaOf(name: FieldName): Schema {
  const { type, description } = described(name)
  const schema = TYPES[type]
  return {
    ...schema,
    ...(isNullable(name) && { type: [schema.type, 'null'] }),
    ...(description !== undefined && { description }),
  }
}

const SCHEMAS = Object.fromEntries(FIELD_NAMES.map((name) => [name, schemaOf(name)])) as Record<
  FieldName,
  Schema
>

export const NewBook = objectSchema<NewBook>(SCHEMAS, {
  $id: 'NewBook',
  required: REQUIRED_FIELDS,
  examples: [EXAMPLE],
})
export const Book = objectSchema<Book>(
  { id: BookId, ...SCHEMAS },
  { $id: 'Book', examples: [{ id: EXAMPLE_ID, ...EXAMPLE }] },
)
export const BookChanges = partialSchema<BookChanges>(SCHEMAS, {
  $id: 'BookChanges',
  examples: [{ year: EXAMPLE.year }],
})
