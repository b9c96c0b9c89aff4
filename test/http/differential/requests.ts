import fc from 'fast-check'

/** A header field, and whose entity tag it has: that of the book now, as it was created, or of another one. */
export interface Condition {
  readonly field: 'if-match' | 'if-none-match'
  readonly tag: 'now' | 'created' | 'other'
}

/** A request of one book, of those by number that were created, modulo their number; or of what is no book. */
export interface OfBook {
  readonly kind: 'book'
  readonly method: string
  readonly target: number | string
  readonly body?: string
  readonly condition?: Condition | undefined
}

export type Request =
  | { readonly kind: 'create'; readonly body: string }
  | OfBook
  /** A list, from page to page, with the first cursor changed or not. */
  | { readonly kind: 'query'; readonly path: string; readonly isTampered: boolean }

const words = (text: string): string[] => text.split(' ')

/** Texts that an engine, its driver, its encoding or its collation might change, or take for equal. */
const TEXTS: readonly string[] = [
  // Empty and blank; a collation with PAD SPACE takes 'x' and 'x ' for equal.
  ...['', ' ', '  ', 'x ', ' x', ' x ', 'x', '\u00a0x\u00a0', '\u3000', '\t', '\r\n', '\n'],
  // Quotes, escapes, wildcards, placeholders, SQL, and what COPY, JSON and numbers would be.
  ...words(`' " \\ \` '' "" \\\\ \\' \\" "\\ % _ \\% \\_ ? $1 :a @b %s {} [] \\u0000 \\x00 \\N \\. \\n`),
  ...words(`NULL null 0 0123 1e5 -0 "id":1 {"id":1,"title":""} },{ ]} </script>`),
  ...["x'; --", "'); DROP TABLE books; --", '\\', 'x\\'],
  // What differs in case, accents, composition or compatibility only.
  ...words('a A á Á a\u0301 ä a\u0308 ae æ ß ss \u1e9e ı İ i I \ufb01 \u00c5 \u212b \u03a9 \u2126 ς σ'),
  ...words('e\u0301\u0323 e\u0323\u0301 \u0301 \uff58 \uac00 \u1100\u1161'),
  // Beyond the 16 bits of old encodings, and the edges of planes and surrogates.
  ...words('📚 😀 👩‍👩‍👧 🏳️‍🌈 𝒳 \u{10000} \u{1fffe} \u{10ffff} \ud7ff \ue000 \uffff \ufffe \ufffd'),
  // What is not seen, or is not left where it is.
  ...['\ufeff', '\ufeffx', 'x\ufeff', '\u2028', '\u2029', '\u200b', '\u00ad', '\u202eأبج\u202c', 'עברית'],
  ...['\u0001', '\u001b[0m', '\u001a', '\u007f', '\u0080', '\u0085', '\b\f'],
]

/** Years around the bounds of the types of numbers, and two that are none. */
const YEARS: readonly number[] = [
  ...[0, 1, -1, 1965, -44, 32_767, 32_768, -32_769, 65_536, 2_147_483_647, 2_147_483_648],
  ...[-2_147_483_648, -2_147_483_649, 4_294_967_295, 4_294_967_296, -4_294_967_296],
  ...[Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 2 ** 53, 1.5],
]

/** What stands in the place of an id. */
const IDS: readonly string[] = [
  // Not of the books that there are: see FIRST_IDS.
  ...words('0 1 2 32768 65536 2147483000 4294967000 9007199254740990 9007199254740991'),
  ...words('9007199254740992 9223372036854775807 9223372036854775808 18446744073709551616 abc'),
]

/** To be repeated so often, around the sizes at which databases, drivers and pages of the list change their ways. */
const UNITS = ['x', ' ', 'é', '📚', '"', '\\', "'", '%', '\u2028'] as const
const LENGTHS = [127, 255, 256, 2000, 8191, 16_383, 16_384] as const
const LONG_LENGTHS = [65_535, 65_536, 100_000, 262_144, 300_000] as const

const knownText = fc.constantFrom(...TEXTS)
const repeated = (lengths: readonly number[]) =>
  fc
    .tuple(fc.constantFrom(...UNITS), fc.constantFrom(...lengths))
    .map(([unit, length]) => unit.repeat(length))

/** Seldom a long one, because many of those would take all the time. */
const text = fc.oneof(
  { weight: 30, arbitrary: knownText },
  { weight: 10, arbitrary: fc.array(knownText, { maxLength: 4 }).map((parts) => parts.join('')) },
  { weight: 10, arbitrary: fc.string({ unit: 'grapheme', maxLength: 30 }) },
  { weight: 5, arbitrary: fc.string({ unit: 'binary', maxLength: 10 }) },
  { weight: 4, arbitrary: repeated(LENGTHS) },
  { weight: 1, arbitrary: repeated(LONG_LENGTHS) },
)
const year = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...YEARS) },
  { weight: 2, arbitrary: fc.maxSafeInteger() },
)
const fields = { title: text, author: text, year }
const newBook = fc.record(fields).map((book) => JSON.stringify(book))
const changes = fc.record(fields, { requiredKeys: [] }).map((book) => JSON.stringify(book))
// Any of the books alike, not the first and the last more often.
const target = fc.oneof<fc.WeightedArbitrary<number | string>[]>(
  { weight: 9, arbitrary: fc.noBias(fc.nat(999)) },
  { weight: 1, arbitrary: fc.constantFrom(...IDS) },
)
const condition = fc.option(
  fc.record({
    field: fc.constantFrom('if-match', 'if-none-match'),
    tag: fc.constantFrom('now', 'created', 'other'),
  }),
  { freq: 2, nil: undefined },
)
const constant = <Value extends string>(value: Value) => fc.constant(value)

const create = fc.record({ kind: constant('create'), body: newBook })
const update = fc.record({
  kind: constant('book'),
  method: constant('PUT'),
  target,
  body: changes,
  condition,
})
const other = fc.record({
  kind: constant('book'),
  method: fc.constantFrom('GET', 'GET', 'HEAD', 'DELETE'),
  target,
  condition,
})

const SORTS = ['id', '-id', 'title', '-title', 'author', '-author', 'year', '-year']
const searched = fc.oneof(
  knownText,
  fc.tuple(knownText, knownText).map((texts) => texts.join(' ')),
  fc.constantFrom('x', 'a', 'i s', 'é ß', '0', "x' 1"),
)
const number = fc.constantFrom(...YEARS).map(String)
const sort = fc.subarray(SORTS, { minLength: 1, maxLength: 3 }).map((names) => names.join())
const limit = fc.integer({ min: 1, max: 12 }).map(String)
const parameter = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('limit'), limit) },
  { weight: 6, arbitrary: fc.tuple(fc.constant('sort'), sort) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('q'), searched) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('title', 'author'), knownText) },
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom('year', 'year_min', 'year_max'), number) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('count'), fc.constantFrom('true', 'false')) },
)
const query = fc.record({
  kind: constant('query'),
  path: fc
    .oneof(
      {
        weight: 12,
        arbitrary: fc.uniqueArray(parameter, { selector: ([name]) => name, minLength: 1, maxLength: 4 }),
      },
      { weight: 4, arbitrary: fc.constant([]) },
    )
    .map(
      (parameters) =>
        `/books?${parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`,
    ),
  isTampered: fc.nat(9).map((number) => number === 0),
})

const several = fc.oneof(
  { weight: 6, arbitrary: update },
  { weight: 4, arbitrary: other },
  { weight: 4, arbitrary: query },
)

/**
 * Requests that are made at once. Books are created one after another, so that they have the same order everywhere; and
 * there are some in the beginning, to do anything with.
 */
export const sequence: fc.Arbitrary<readonly (readonly Request[])[]> = fc
  .tuple(
    fc.array(create, { minLength: 2, maxLength: 8 }),
    fc.array(
      fc.oneof(
        { weight: 1, arbitrary: fc.tuple(create) },
        { weight: 2, arbitrary: fc.tuple(several) },
        { weight: 1, arbitrary: fc.array(several, { minLength: 2, maxLength: 8 }) },
      ),
      { maxLength: 30, size: 'max' },
    ),
  )
  .map(([books, steps]) => [...books.map((book) => [book]), ...steps])
