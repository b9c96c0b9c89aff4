import fc from 'fast-check'
import {
  BODIES,
  type Fragment,
  IDS,
  LENGTHS,
  LONG_LENGTHS,
  NUMBERS,
  REFUSED,
  TEXTS,
  UNITS,
} from './values.ts'

const text = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...TEXTS) },
  {
    weight: 2,
    arbitrary: fc.array(fc.constantFrom(...TEXTS), { maxLength: 4 }).map((parts) => parts.join('')),
  },
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
  { weight: 5, arbitrary: fc.constantFrom(...NUMBERS) },
  { weight: 12, arbitrary: fc.maxSafeInteger().map(String) },
  { weight: 1, arbitrary: fc.double().map(String) },
)
export const refusedFragment: fc.Arbitrary<Fragment> = fc.constantFrom(...REFUSED)
export const oddBody: fc.Arbitrary<string | Buffer> = fc.constantFrom(...BODIES)
export const oddId: fc.Arbitrary<string> = fc.constantFrom(...IDS)
