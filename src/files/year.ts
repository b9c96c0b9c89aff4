const BC = String.raw`b(?:\.\s?)?c(?:\.?\s?e)?`
const YEAR_BC = new RegExp(String.raw`^(\d+)\s?${BC}\.?$`, 'i')

/** Matches dates that may be before our era. They have BC, a dash at the start, or a dash as a sign, not a hyphen. */
const BEFORE_OUR_ERA = new RegExp(
  String.raw`(?<!\p{L})${BC}(?!\p{L})|^[^\p{L}\p{N}]*[\p{Pd}−]|[^\p{L}\p{N}][\p{Pd}−]\d`,
  'iu',
)

/** The time of day after an ISO 8601 date. Its offset from UTC may have four digits too. */
const TIME = /(?<=^\d{4}-\d\d-\d\d)(?:T| (?=\d\d:))[\d:.,]+ ?(?:Z|[-+][\d:]+)?$/i

/** @returns NaN for anything but a whole number in decimal digits; spaces around it do not matter. */
export function parseYear(text: string): number {
  return /^\s*[-+]?\d+\s*$/.test(text) ? Number(text) : Number.NaN
}

/** UTF-16 code units. A longer text is not a date. */
const MAX_DATE_LENGTH = 1000

/**
 * The year in a cell of another program's file, or undefined if it is unknown. A wrong year is worse than none.
 * A cell that is an integer is that year: `8`, `-750`, `750 BC`, and `1965.0` from a spreadsheet. Otherwise the year
 * is the only one of four digits in the cell: `c1999`, `[1987?]`, `9/16/2006`. The same year twice is one year, because
 * both say the same. Any other date before our era is unknown: `-0749-01-01` is 750 BC in ISO 8601, but not everywhere.
 * @param text of the cell, without spaces around it.
 */
export function yearIn(text: string): number | undefined {
  if (text.length > MAX_DATE_LENGTH) return undefined
  const whole = parseYear(text.replace(/\.0$/, '').replace(YEAR_BC, '-$1').replace(/^−/, '-'))
  if (Number.isSafeInteger(whole)) return whole
  const date = text.replace(TIME, '')
  if (BEFORE_OUR_ERA.test(date)) return undefined
  const years = new Set(date.match(/(?<!\p{Nd})\d{4}(?!\p{Nd})/gu))
  years.delete('0000')
  const [year] = years
  return years.size === 1 ? Number(year) : undefined
}
