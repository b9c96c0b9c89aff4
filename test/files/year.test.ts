import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertRead } from './read.ts'

const bookOf = (year: number) => ({ title: 'T', author: 'A', year })

/** Reads books that have these texts in the columns of their years. Unknown years are 0, and counted. */
async function assertYears(columns: string, texts: readonly string[], year: number | undefined) {
  const rows = texts.map((text) => `T,A,"${text.replaceAll('"', '""')}"`)
  const report = await assertRead([columns, ...rows].join('\n'), Array(rows.length).fill(bookOf(year ?? 0)))
  assert.equal(report.withoutYear, year === undefined ? rows.length : 0)
}

/** Texts between bars, and the year that they tell; undefined if they tell none for certain. */
const YEARS: readonly (readonly [what: string, year: number | undefined, texts: string])[] = [
  ['an integer of up to four digits', 8, '8|+8|="8"|08|8.0'],
  ['a number of a spreadsheet', 1999, '1999|="1999"|="1999" |1999.0|1999.00'],
  ['a date of eight digits', 1999, '19990501|="19990501"|19990501.0'],
  ['no date of eight digits', undefined, '199905|19991305|19990230|+19990501|-19990501|20070229'],
  ['before our era by its minus', -750, '-750|−750|="-750"|-750.0|-0750'],
  ['before our era by its words', -1250, '1250 BC|1250 BCE|1250 B.C.|1250 B. C.|1250 B.C.E.|1250BC'],
  ['the only number of four digits', 1999, 'c1999|©1999|[1999]|1999?|AD 1999|1st ed. 1999'],
  ['beside other words', 1987, '1987-88|Vol. 12, 1987|1987²|Vancouver, ABC, 1987|Bcc 1987|1987-'],
  ['in a date', 1999, '5/1/1999|1.5.1999|01-05-1999|1999-05|9/16/1999 0:00|May 1,1999'],
  ['twice the same', 1999, '1999, c1999|1999-1999'],
  [
    'in a timestamp',
    1965,
    '1965-08-01T00:00:00+00:00|1965-08-01 00:00:00 -0500|1965-08-01T12|1965-08-01t12:00:00.1234z',
  ],
  ['nothing', undefined, '| |=""|-|?|n.d.'],
  ['other digits', undefined, 'MCMXCIX|٢٠٠٦|1999٢|１９９９'],
  ['too few digits', undefined, "5/1/99|18th century|19--|199-?|'99|AD 79|79 CE|c. 750"],
  [
    'two years',
    undefined,
    '1999-2003|1998/1999|1999, c1998|1999-05-01 2003|1999-05-01/2003-06-01|1998-12-1999',
  ],
  ['about BC', undefined, 'c. 750 BC|1250-1200 BC|1,250 BC|-750 BC|[1250 B.C.?]|BC 1250'],
  [
    'BC in other languages',
    undefined,
    'ca. 1200 v. Chr.|1200 v.u.Z.|1200 vor Christus|1200 av. J.-C.|1200 av JC|1200 a.C.|[1200?] a. de C.|1200 avanti Cristo|1200 f.Kr.|1200 eKr.|' +
      'Kr. e. 1200|1200 p.n.e.|1200 př. n. l.|1200 pr. Kr.|1200 г. до н. э.|1200 до нашей эры|1200 пр. н. е.|1200 π.Χ.|MÖ 1200|1200 TCN|' +
      '紀元前1200年|公元前1200年|前1200年|기원전 1200년|1200 ق.م|1200 לפנה״ס',
  ],
  [
    'AD in other languages',
    1990,
    '1990 n. Chr.|1990 apr. J.-C.|1990 d.C.|1990 d. de C.|1990 e.Kr.|1990 pKr|Kr. u. 1990|1990 n.e.|1990 н. э.|1990 μ.Χ.|1990年',
  ],
  [
    'beside words that are like BC',
    1990,
    'April 1990|1990 av. ed.|avril 1990|New York, 1990|p. 1990|Madrid, a. C. 1990|A.C. McClurg, 1990|5/1/1990 1:00 PM EST|v. 1990|قم، 1990|رقم 1990',
  ],
  ['something with a minus', undefined, '–750|-1250?|- 1250|(-1250)|c. -1250|about −1250|-1250.5'],
  // ISO 8601 has -0749 for 750 BC, and other programs do not.
  ['dates before our era', undefined, '-0749-01-01|-0749-01-01T00:00:00+00:00|−1249-01-01'],
  ['unsafe integers', undefined, `9007199254740992|-9007199254740993|9007199254740993 BC|${'9'.repeat(400)}`],
  ['a date that begins with the day', undefined, '01051999|13051999|9162006|01010101|99991231'],
  ['the days of a spreadsheet', undefined, '43831|43831.0|36281.5208|36281,5208|00008|1,999|1e3'],
  ['seconds since 1970', undefined, '957139200|-315619200|957139200000|9.5714E+11|1.9991e+07'],
  [
    'a date for none',
    undefined,
    '0000-00-00|[0000]|0001-01-01|0001-01-01T00:00:00Z|1/1/0001 12:00:00 AM|9999-12-31',
  ],
  ['another calendar', undefined, '1420 AH|1420 A.H.|1420 هـ|1420هـ|พ.ศ. 2542|พ.ศ.2542'],
  ['a long text', 1999, `1999${'.'.repeat(996)}`],
  ['too long a text', undefined, `1999${'.'.repeat(997)}`],
]

describe('the year of a book in an export of another program', () => {
  for (const [what, year, texts] of YEARS)
    it(`is ${year ?? 'unknown'}: ${what}`, () =>
      assertYears('Title,Author,Year Published', texts.split('|'), year))

  it('is what it says in our own columns', async () => {
    const years = [19990501, 199905, 43831, -957139200, 9007199254740991]
    const rows = years.map((year) => `T,A, ${year}\n`)
    await assertRead(`title,author,year\n${rows.join('')}`, years.map(bookOf))
  })

  for (const [date, year] of [
    ['0101-01-02T00:00:00+00:00', 101],
    ['0101-01-01T00:00:00+00:00', undefined],
    ['0100-12-31T19:00:00-05:00', undefined],
  ] as const)
    it(`of Calibre is ${year} with ${date}`, () => assertYears('title,authors,pubdate', [date], year))
})
