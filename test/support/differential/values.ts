import fc from 'fast-check'

/** A value as it stands in the JSON text of a body: not every one that can be written is one of JavaScript's. */
export type Fragment = string

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

/** Numbers that are years, and some that are not, as one can write them. */
const NUMBERS: readonly Fragment[] = [
  ...words('0 -0 0.0 -0.0 0e5 1 -1 1.0 1e3 1E+3 10e-1 1.5 1e-1 1e16 1e308 1e400 -1e400 5e-324'),
  ...words('1965 -44 32767 32768 -32769 65536 2147483647 2147483648 -2147483648 -2147483649'),
  ...words('4294967295 4294967296 -4294967296 9007199254740991 -9007199254740991 9007199254740992'),
  ...words('-9007199254740992 9007199254740993 9.007199254740991e15 9007199254740990.0'),
  ...words('9007199254740991.5 9223372036854775807 9223372036854775808 18446744073709551616'),
]

/** What is not text and no year, also what is no JSON. */
const REFUSED: readonly Fragment[] = [
  ...words('null true [] {} ["x"] "1965" 01 +1 .5 1. NaN Infinity 0x10'),
  ...words('"\\u0000" "x\\u0000y" "\\ud800" "\\udfff" "\\udc00\\ud800" "x\\ud83d" "\\x41" "'),
  ...['', '"\\ud83d "', '"\t"', '"\n"', "'x'"],
]

/** Whole bodies that are no book, or are one in an unusual way. */
const BODIES: readonly (string | Buffer)[] = [
  ...words('{ } {}} null true 1 "x" [] [{}] {"title"} {"title":} {,} {"a":1,} \ufeff{} {}\u0000'),
  ...words('{"__proto__":{"title":"x"}} {"constructor":{"prototype":{}}} {"Title":"x"}'),
  ...words('{"t\\u0069tle":"x"} {"title":"x","title":1} {"title":1,"title":"x"}'),
  ...['', ' ', '{"title ":"x"}', ' {"title" : "x" } '],
  // Not UTF-8: a byte alone, an overlong quote, half an emoji, a surrogate.
  ...[[0xff], [0xc0, 0xa2], [0xf0, 0x9f, 0x93], [0xed, 0xa0, 0x80]].map((bytes) =>
    Buffer.concat([Buffer.from('{"title":"'), Buffer.from(bytes), Buffer.from('"}')]),
  ),
]

/** What stands in the place of an id. */
const IDS: readonly string[] = [
  ...words('0 -1 -0 +1 01 00 1 2 1.0 1.5 1e3 0x1 1%20 %31 %00 %EF%BC%91 abc null NaN'),
  // Not of the books that there are: see FIRST_IDS.
  ...words("1'-- 1; 1,2 * % ~ 32768 65536 2147483000 4294967000"),
  ...words('9007199254740990 9007199254740991 9007199254740992 9223372036854775807'),
  ...words('9223372036854775808 18446744073709551616'),
  ...['1'.repeat(16), '1'.repeat(17), '1'.repeat(400)],
]

/** To be repeated so often, around the sizes at which databases, drivers and pages of the list change their ways. */
const UNITS = ['x', ' ', 'é', '📚', '"', '\\', "'", '%', '\u2028'] as const
const LENGTHS = [127, 255, 256, 2000, 8191, 16_383, 16_384] as const
const LONG_LENGTHS = [65_535, 65_536, 100_000, 262_144, 300_000] as const

export const knownText = fc.constantFrom(...TEXTS)
export const knownNumber = fc.constantFrom(...NUMBERS)
export const refusedFragment: fc.Arbitrary<Fragment> = fc.constantFrom(...REFUSED)
export const oddBody: fc.Arbitrary<string | Buffer> = fc.constantFrom(...BODIES)
export const oddId: fc.Arbitrary<string> = fc.constantFrom(...IDS)

const text = fc.oneof(
  { weight: 6, arbitrary: knownText },
  { weight: 2, arbitrary: fc.array(knownText, { maxLength: 4 }).map((parts) => parts.join('')) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 30 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 10 }) },
)
const repeated = (lengths: readonly number[]) =>
  fc
    .tuple(fc.constantFrom(...UNITS), fc.constantFrom(...lengths))
    .map(([unit, length]) => JSON.stringify(unit.repeat(length)))

/** Writes what the pattern finds as escapes, of two an emoji. */
const escaped = (pattern: RegExp) => (text: string) => {
  const hex = (unit: string) => unit.charCodeAt(0).toString(16).padStart(4, '0')
  return `"${text.replaceAll(pattern, (unit) => `\\u${hex(unit)}`)}"`
}
const spelling = fc.constantFrom<(text: string) => Fragment>(
  JSON.stringify,
  escaped(/[^ !#-[\]-~]/g),
  escaped(/[\s\S]/g),
)

/** The JSON of a text, seldom of a long one, because many of those would take all the time. */
export const textFragment: fc.Arbitrary<Fragment> = fc.oneof(
  { weight: 60, arbitrary: fc.tuple(text, spelling).map(([text, spell]) => spell(text)) },
  { weight: 4, arbitrary: repeated(LENGTHS) },
  { weight: 1, arbitrary: repeated(LONG_LENGTHS) },
)
export const numberFragment: fc.Arbitrary<Fragment> = fc.oneof(
  { weight: 5, arbitrary: knownNumber },
  { weight: 12, arbitrary: fc.maxSafeInteger().map(String) },
  { weight: 1, arbitrary: fc.double().map(String) },
)
