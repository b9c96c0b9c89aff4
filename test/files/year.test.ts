import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { yearIn } from '../../src/files/year.ts'
import { readFile } from './read.ts'

/** Reads a CSV file with one row. Its cells stand in quotes. */
async function readRow(columns: string, cells: readonly string[]) {
  const row = cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')
  const { books, report, error } = await readFile(`${columns}\n${row}\n`, 'csv')
  assert.equal(error, undefined)
  assert.equal(books.length, 1)
  return { year: books[0]?.year, withoutYear: report.withoutYear }
}

const known = (year: number) => ({ year, withoutYear: 0 })
const UNKNOWN = { year: 0, withoutYear: 1 }

/** Each year with the texts that tell it. */
const TOLD: readonly (readonly [year: number, ...texts: string[]])[] = [
  // A text that is an integer of up to four digits.
  [8, '8', '+8', ' 8 ', '="8"', '08', '8.0'],
  [0, '0', '-0', '0000'],
  [1999, '1999', '="1999"', '="1999" ', '1999.0', '1999.00'],
  // A date of eight digits.
  [2000, '20000229'],
  [1999, '19990501', '19991231', '="19990501"', '19990501.0'],
  [2006, '20060916', '20060916.0'],
  // Before our era.
  [-750, '-750', '−750', '="-750"', '-750.0', '-0750'],
  [-750, '750 BC', '750 BCE', '750 B.C.', '750 B. C.', '750 B.C.E.', '750 bc', '750BC', ' 750  BC '],
  [-1250, '-1250', '−1250', '1250 BC'],
  // One year of four digits.
  [
    1999,
    'c1999',
    '©1999',
    '[1999]',
    '1999?',
    '1999-',
    'AD 1999',
    '1999 CE',
    '1st ed. 1999',
    '1999 (3rd ed.)',
  ],
  [1987, '[1987?]', 'ca. 1987', '1987-88', 'Vol. 12, 1987', '1987²', 'Vancouver, ABC, 1987', 'Bcc 1987'],
  [1999, '5/1/1999', '1.5.1999', '01-05-1999', '1999-05', '1999-05-01', '1999/05/01', 'May 1,1999'],
  [2006, '9/16/2006', '9/16/2006 0:00', 'Sat, 16 Sep 2006 00:00:00 +0000'],
  // The same year twice is one year: there is nothing to choose between.
  [1999, '1999, c1999', '1999-1999'],
  // The time of day and the offset of a timestamp have no year.
  [1965, '1965-08-01T00:00:00+00:00', '1965-08-01T00:00:00+0000', '1965-08-01 00:00:00 -0500'],
  [1965, '1965-08-01T1200', '1965-08-01T12', '1965-08-01t12:00:00.1234z', '1965-08-01T05:53:28+05:53:28'],
]

const NOT_TOLD = [
  ['', ' ', '=""', '-', '?', 'n.d.', 'unknown', 'MCMXCIX', '٢٠٠٦', '1999٢', '１９９９'],
  ['5/1/99', '18th century', '19--', '199-?', "'99", '1,999', '1.999', '2.000', '1 999', '1e3', '8.5'],
  ['c19991', 'vol. 20060916', 'AD 79', '79 AD', '79 CE', 'c. 750'],
  ['1999-2003', '1998/1999', '1999, c1998', '1999-05-01 2003', '1999-05-01/2003-06-01', '1998-12-1999'],
  // These dates may be before our era. ISO 8601 has -0749 for 750 BC, and other programs do not.
  ['c. 750 BC', 'c. 1250 BC', '1250-1200 BC', '1,250 BC', '-750 BC', '[1250 B.C.?]', 'BC 1250'],
  ['–750', '–1250', '-1250?', '- 1250', '(-1250)', 'c. -1250', 'about −1250', '-1250.5'],
  ['-0749-01-01', '-0749-01-01T00:00:00+00:00', '-1249-01-01', '−1249-01-01'],
  // No year has these digits.
  ['0000-00-00', '0000-00-00T00:00:00+0000', '[0000]'],
  // JSON numbers and SQL cannot hold these without a loss.
  ['9007199254740992', '-9007199254740993', '9007199254740993 BC', '9'.repeat(400)],
  // Months, dates that are none, days and months before the year, digits of other things.
  [
    '199905',
    '19991305',
    '19990230',
    '19990500',
    '20070229',
    '01051999',
    '13051999',
    '9162006',
    '01010101',
    '99991231',
  ],
  // Days since 1900, and seconds and milliseconds since 1970, as spreadsheets and programs write them.
  [
    '12345',
    '43831',
    '43831.0',
    '36281.5208',
    '36281,5208',
    '957139200',
    '-315619200',
    '957139200000',
    '9.5714E+11',
    '1.9991e+07',
  ],
  ['00008', '-12000', '+19990501', '-19990501', '9007199254740991'],
  // What programs write for a date that they do not know.
  ['0001-01-01', '0001-01-01T00:00:00Z', '1/1/0001 12:00:00 AM', '9999-12-31'],
  // Other calendars.
  ['1420 AH', '1420 A.H.', '1420 هـ', '1420هـ', 'พ.ศ. 2542', 'พ.ศ.2542'],
].flat()

describe('the year of a book in an export of another program', () => {
  for (const [year, ...texts] of TOLD) {
    for (const text of texts) {
      it(`is ${year}: ${JSON.stringify(text)}`, async () => {
        assert.deepEqual(await readRow('Title,Author,Year Published', ['T', 'A', text]), known(year))
      })
    }
  }

  for (const text of NOT_TOLD) {
    it(`is unknown and counted: ${JSON.stringify(text.slice(0, 40))}`, async () => {
      assert.deepEqual(await readRow('Title,Author,Year Published', ['T', 'A', text]), UNKNOWN)
    })
  }

  it('is a whole number that stands in the text, whatever the text is', () => {
    const unit = fc.constantFrom(...'0123456789', '1999', '750', ...'-−–.,/:+ TZBCce٢', ' BC')
    const property = fc.property(fc.string({ unit }), (text) => {
      const year = yearIn(text)
      if (year === undefined) return
      assert.ok(Number.isSafeInteger(year))
      const numbers = text.match(/\d+/g) ?? []
      const dates = numbers.filter(({ length }) => length === 8).map((date) => date.slice(0, 4))
      assert.ok([...numbers, ...dates].map(Number).includes(Math.abs(year)))
      if (/^[-−–]| BC(?![a-z])/i.test(text)) assert.ok(year <= 0)
    })
    fc.assert(property, { numRuns: 20_000 })
  })
})

describe('digits of a date', () => {
  for (const columns of [
    'Title,Author,Year Published',
    'title,authors,pubdate',
    'Title,Primary Author,Date',
    'Titel,Autor,Jahr',
  ]) {
    it(`are a year in another program's columns if they are a whole date: ${columns}`, async () => {
      const { books, report } = await readFile(`${columns}\nT,A,19990501\nT,A,199905\nT,A,43831\n`, 'csv')
      assert.deepEqual([books.map(({ year }) => year), report.withoutYear], [[1999, 0, 0], 2])
    })
  }

  it('are what they say in our own columns', async () => {
    const years = [19990501, 199905, 43831, -957139200, 9007199254740991]
    const rows = years.map((year) => `T,A,${year}\n`)
    const { books } = await readFile(`title,author,year\n${rows.join('')}`, 'csv')
    assert.deepEqual(
      books.map(({ year }) => year),
      years,
    )
  })
})

describe('the year in an export of Goodreads', () => {
  const columns = 'Title,Author,Original Publication Year,Year Published'
  for (const [original, published, expected] of [
    ['1969', '2000', known(1969)],
    ['', '2000', known(2000)],
    ['18th century', '9/16/2006', known(2006)],
    ['18th century', '1998/1999', UNKNOWN],
    ['43831', '19990501', known(1999)],
  ] as const) {
    it(`is that of the first edition, or else of this one: ${original}, ${published}`, async () => {
      assert.deepEqual(await readRow(columns, ['T', 'A', original, published]), expected)
    })
  }
})

describe('the year in an export of Calibre', () => {
  for (const [date, expected] of Object.entries({
    '1965-08-01T00:00:00+00:00': known(1965),
    '0101-01-02T00:00:00+00:00': known(101),
    '0101-01-01T00:00:00+00:00': UNKNOWN,
    '="0101-01-01T00:00:00+00:00"': UNKNOWN,
    '0100-12-31T19:00:00-05:00': UNKNOWN,
    '0079-08-24T00:00:00+00:00': UNKNOWN,
    '-0750-01-01': UNKNOWN,
    '': UNKNOWN,
  })) {
    it(`is ${expected.year} with ${date}`, async () => {
      assert.deepEqual(await readRow('title,authors,pubdate', ['T', 'A', date]), expected)
    })
  }
})
