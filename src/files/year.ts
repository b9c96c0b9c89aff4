const BC = String.raw`b(?:\.\s?)?c(?:\.?\s?e)?`
const YEAR_BC = new RegExp(String.raw`^(\d+)\s?${BC}\.?$`, 'i')

/**
 * Matches dates that may be of another era: before ours, which have BC, a dash at the start, or a dash as a sign, not a
 * hyphen; or Islamic or Thai years that say so.
 */
const OTHER_ERA = new RegExp(
  String.raw`(?<!\p{L})(?:${BC}|a\.?\s?h)(?!\p{L})|هـ|พ\.?\s?ศ|^[^\p{L}\p{N}]*[\p{Pd}−]|[^\p{L}\p{N}][\p{Pd}−]\d`,
  'iu',
)

/** The time of day after an ISO 8601 date. Its offset from UTC may have four digits too. */
const TIME = /(?<=^\d{4}-\d\d-\d\d)(?:T| (?=\d\d:))[\d:.,]+ ?(?:Z|[-+][\d:]+)?$/i

/** Eight digits that may be a date (ISO 8601, basic format). Before the year 1000 they may as well begin with a day. */
const BASIC_DATE = /^([12]\d{3})(\d\d)(\d\d)$/

/** Numbers that are no year, such as the days of a spreadsheet or the seconds since 1970, also with a fraction. */
const LONG_NUMBER = /^[-+]?(?:\d{5,}(?:[.,]\d*)?|\d+(?:[.,]\d+)?e[-+]?\d+)$/i

/** What programs write for a date that they do not know. */
const NO_YEARS = ['0000', '0001', '9999']

/** @returns NaN for anything but a whole number in decimal digits; spaces around it do not matter. */
export function parseYear(text: string): number {
  return /^\s*[-+]?\d+\s*$/.test(text) ? Number(text) : Number.NaN
}

/** UTF-16 code units. A longer text is not a date. */
const MAX_DATE_LENGTH = 1000

/**
 * The year in a cell of another program's file, or undefined if it is unknown. A wrong year is worse than none.
 * A cell that is an integer of up to four digits is that year: `8`, `-750`, `750 BC`, and `1965.0` from a spreadsheet.
 * One of eight digits may be a date: `19990501`. Any other number is unknown. Otherwise the year is the only one of four
 * digits in the cell: `c1999`, `[1987?]`, `9/16/2006`. The same year twice is one year, because both say the same. Any
 * other date before our era is unknown: `-0749-01-01` is 750 BC in ISO 8601, but not everywhere.
 * @param text of the cell, without spaces around it.
 */
export function yearIn(text: string): number | undefined {
  if (text.length > MAX_DATE_LENGTH) return undefined
  const number = text.replace(/\.0$/, '').replace(/^−/, '-')
  const year = number.replace(YEAR_BC, '-$1')
  if (/^[-+]?\d{1,4}$/.test(year) || (year !== number && Number.isSafeInteger(Number(year))))
    return Number(year)
  const day = number.replace(BASIC_DATE, '$1-$2-$3')
  if (LONG_NUMBER.test(number) && new Date(day).toJSON()?.startsWith(`${day}T`) !== true) return undefined
  const date = day.replace(TIME, '')
  if (OTHER_ERA.test(date)) return undefined
  const years = new Set(date.match(/(?<!\p{Nd})\d{4}(?!\p{Nd})/gu))
  for (const none of NO_YEARS) years.delete(none)
  const [only] = years
  return years.size === 1 ? Number(only) : undefined
}
