import fc from 'fast-check'
import type { NewBook } from '../../src/catalogue/book.ts'
import { anyText } from '../support/any-text.ts'

/** Parts of texts that formats, spreadsheets and databases have taken for something else. */
const HOSTILE = [
  ...'" "" , ; =1+1 ="0123" @SUM(A1) +1 -1 \' \\ \\n \\N \\. },{"id": {"id":1} %s $1 :a ? 0x true 1e3 NULL null'.split(
    ' ',
  ),
  ...['\t', '\r', '\n', '\r\n', ' ', '  ', '\u00a0', '\u0001', '\u007f', '\u0085', '\u2028', '\ufeff'],
  ...['e\u0301', 'é', '🂡', '𐍈', 'שלום', '文字'],
]

const text = fc.oneof(
  fc.array(fc.constantFrom(...HOSTILE), { maxLength: 6 }).map((parts) => parts.join('')),
  anyText(30).map((text) => text.replaceAll('\0', '')),
)

const year = fc.oneof(
  fc.integer({ min: -3000, max: 3000 }),
  fc.constantFrom(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 0),
)

/** A book with any text that may be in one. */
export const hostileBook: fc.Arbitrary<NewBook> = fc.record(
  { title: text, author: text, year },
  { noNullPrototype: true },
)

export const hostileBooks: fc.Arbitrary<NewBook[]> = fc.array(hostileBook, { maxLength: 30 })
