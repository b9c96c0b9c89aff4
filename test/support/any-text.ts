import fc from 'fast-check'

/** Surrogates, which are no characters. */
const [FIRST, COUNT] = [0xd800, 0x800]

const character = fc
  .nat({ max: 0x10ffff - COUNT })
  .map((code) => String.fromCodePoint(code < FIRST ? code : code + COUNT))

/** Any well-formed text. To make the unit `binary` of fast-check takes two seconds. */
export const anyText = (maxLength?: number): fc.Arbitrary<string> =>
  fc.string({ unit: character, ...(maxLength !== undefined && { maxLength }) })
