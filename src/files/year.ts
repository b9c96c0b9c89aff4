const BC = String.raw`b(?:\.\s?)?c(?:\.?\s?e)?`
const YEAR_BC = new RegExp(String.raw`^(\d+)\s?${BC}\.?$`, 'i')

/** BC in other languages, but not AD: `n. Chr.`, `apr. J.-C.`, `d.C.`, `e.Kr.`, `n.e.`, `н. э.`. */
const BC_ELSEWHERE = [
  String.raw`v(?:or|\.)?\s?(?:Chr(?:istus)?|u\.?\s?Z)|av(?:\.|ant)?\s?J(?:\.?\s?-?C|ésus)|f\.?\s?Kr|eKr|Kr\.?\s?e`,
  // Before a year it may be the initials of a publisher.
  String.raw`(?<=\d\P{L}*)a(?:\.|ntes|vanti)?\s?(?:de\s)?C(?:risto)?`,
  String.raw`p[rř]?\.?\s?n\.?\s?(?:[el]|št)|p[rř]\.?\s?Kr|до\s?(?:н(?:аш\p{L}+)?|Р)|пр?\.?\s?н\.?\s?[еэ]|пр\.?\s?Хр|π\.?\s?Χ|M\.?\s?Ö|TCN|ق[.\s]\s?م`,
].join('|')

/**
 * Matches dates that may be of another era: with BC; with a dash at the start, or where it is a minus sign and not a
 * hyphen; or with the abbreviation of the Islamic or the Thai calendar.
 */
const OTHER_ERA = new RegExp(
  String.raw`(?<!\p{L})(?:${BC}|${BC_ELSEWHERE}|a\.?\s?h)(?!\p{L})|元前|前\d|기원전|לפנה|هـ|พ\.?\s?ศ|^[^\p{L}\p{N}]*[\p{Pd}−]|[^\p{L}\p{N}][\p{Pd}−]\d`,
  'iu',
)

/** The time of day after an ISO 8601 date, whose offset from UTC may also have four digits. */
const TIME = /(?<=^\d{4}-\d\d-\d\d)(?:T| (?=\d\d:))[\d:.,]+ ?(?:Z|[-+][\d:]+)?$/i

/** Eight digits that may be a date (ISO 8601, basic format). Before the year 1000, they may begin with a day. */
const BASIC_DATE = /^([12]\d{3})(\d\d)(\d\d)$/

/** Numbers that are not years, such as the days of a spreadsheet or the seconds since 1970, also with a fraction. */
const LONG_NUMBER = /^[-+]?(?:\d{5,}(?:[.,]\d*)?|\d+(?:[.,]\d+)?e[-+]?\d+)$/i

/** What programs write for an unknown date. */
const NO_YEARS = ['0000', '0001', '9999']

/** @returns NaN for anything but a decimal integer, perhaps with spaces around it. */
export function parseYear(text: string): number {
  return /^\s*[-+]?\d+\s*$/.test(text) ? Number(text) : Number.NaN
}

/** In UTF-16 code units. A longer text is not a date. */
const MAX_DATE_LENGTH = 1000

/**
 * Reads the year from a cell of another program's file. A wrong year is worse than none.
 * - An integer of up to four digits is the year: `8`, `-750`, `750 BC`, and `1965.0` from a spreadsheet.
 * - Eight digits may be a date: `19990501`. Any other number is unknown.
 * - Otherwise it is the only number of four digits, which may occur twice: `c1999`, `[1987?]`, `9/16/2006`.
 * - Any other date BC is unknown: `-0749-01-01` is 750 BC in ISO 8601, but not in every program.
 * @param text has no spaces around it. @returns undefined if the year is unknown.
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
