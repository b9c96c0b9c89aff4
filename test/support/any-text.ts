import fc from 'fast-check'

/** Surrogates, which are no characters. */
const [FIRST, COUNT] = [0xd800, 0x800]

const character = fc
  .nat({ max: 0x10ffff - COUNT })
  .map((code) => String.fromCodePoint(code < FIRST ? code : code + COUNT))

/** Any well-formed text. fast-check's own unit for it, `binary`, takes two seconds to make. */
export const anyText = (maxLength?: number): fc.Arbitrary<string> =>
  fc.string({ unit: character, ...(maxLength !== undefined && { maxLength }) })
