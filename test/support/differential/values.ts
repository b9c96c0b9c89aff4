/** A value as it stands in the JSON text of a body: not every one that can be written is one of JavaScript's. */
export type Fragment = string

const words = (text: string): string[] => text.split(' ')

/** Texts that an engine, its driver, its encoding or its collation might change, or take for equal. */
export const TEXTS: readonly string[] = [
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

/** To be repeated so often, around the sizes at which databases, drivers and pages of the list change their ways. */
export const UNITS = ['x', ' ', 'é', '📚', '"', '\\', "'", '%', '\u2028'] as const
export const LENGTHS = [127, 255, 256, 2000, 8191, 16_383, 16_384] as const
export const LONG_LENGTHS = [65_535, 65_536, 100_000, 262_144, 300_000] as const

/** Numbers that are years, and some that are not, as one can write them. */
export const NUMBERS: readonly Fragment[] = [
  ...words('0 -0 0.0 -0.0 0e5 1 -1 1.0 1e3 1E+3 10e-1 1.5 1e-1 1e16 1e308 1e400 -1e400 5e-324'),
  ...words('1965 -44 32767 32768 -32769 65536 2147483647 2147483648 -2147483648 -2147483649'),
  ...words('4294967295 4294967296 -4294967296 9007199254740991 -9007199254740991 9007199254740992'),
  ...words('-9007199254740992 9007199254740993 9.007199254740991e15 9007199254740990.0'),
  ...words('9007199254740991.5 9223372036854775807 9223372036854775808 18446744073709551616'),
]

/** What is not text and no year, also what is no JSON. */
export const REFUSED: readonly Fragment[] = [
  ...words('null true [] {} ["x"] "1965" 01 +1 .5 1. NaN Infinity 0x10'),
  ...words('"\\u0000" "x\\u0000y" "\\ud800" "\\udfff" "\\udc00\\ud800" "x\\ud83d" "\\x41" "'),
  ...['', '"\\ud83d "', '"\t"', '"\n"', "'x'"],
]

/** Whole bodies that are no book, or are one in an unusual way. */
export const BODIES: readonly (string | Buffer)[] = [
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
export const IDS: readonly string[] = [
  ...words('0 -1 -0 +1 01 00 1 2 1.0 1.5 1e3 0x1 1%20 %31 %00 %EF%BC%91 abc null NaN'),
  ...words("1'-- 1; 1,2 * % ~ 2147483647 2147483648 4294967295 4294967296 4294967297"),
  ...words('9007199254740990 9007199254740991 9007199254740992 9223372036854775807'),
  ...words('9223372036854775808 18446744073709551616'),
  ...['1'.repeat(16), '1'.repeat(17), '1'.repeat(400)],
]
