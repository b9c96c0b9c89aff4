import { words, yearText } from './words.js'

/**
 * The fields of a book, and how people read and type them.
 *
 * @typedef {{ id: number, title: string, author: string, year: number }} Book
 * @typedef {Record<typeof FIELDS[number], string>} Draft what is typed.
 */

/** The fields of a book, apart from its id. */
export const FIELDS = /** @type {const} */ (['title', 'author', 'year'])

/** The fields as a user would type them: no year if it is unknown. @param {Book} [book] @returns {Draft} */
export const draftOf = (book) =>
  book === undefined
    ? { title: '', author: '', year: '' }
    : { title: book.title, author: book.author, year: book.year === 0 ? '' : yearText(book.year) }

/** @param {Draft | Book} one @param {Draft | Book} other */
export const isSame = (one, other) => FIELDS.every((name) => one[name] === other[name])

/** The length at which texts are cut in a sentence, and in a row; in code points. */
const [LONGEST_QUOTED, LONGEST_SHOWN] = [60, 300]

/** Only characters that nobody sees. */
const BLANK = /^[\s\p{Cc}\p{Cf}\u115F\u1160\u2800\u3164\uFFA0]*$/u

/** A text in one line with visible line breaks, so that different texts do not look alike. @param {string} text */
export const oneLine = (text) => cut(text.replaceAll(/\r\n|[\n\r\u2028\u2029]/g, ' ↵ '), LONGEST_SHOWN)

/** A title in one line, or a note that it is empty or blank. @param {string} title */
export function legible(title) {
  if (title === '') return words.noTitle
  return BLANK.test(title) ? words.blankTitle : oneLine(title)
}

/** A text that fits into a sentence. @param {string} text */
export const short = (text) => cut(text, LONGEST_QUOTED)

/** A title that fits into a sentence, in quotation marks. @param {string} title */
export const quote = (title) => `“${short(legible(title))}”`

/** @param {string} text @param {number} length in code points. */
export function cut(text, length) {
  if (text.length <= length) return text
  const start = Array.from(text.slice(0, 2 * length))
    .slice(0, length)
    .join('')
  return start === text ? text : `${start}…`
}

/** Characters that nobody sees, such as joiners, do not divide words. */
const WORD = /[\p{L}\p{M}\p{N}\p{Cf}]+/gu

const MOST_WORDS = 32

/** The search that finds a text; empty if the text has no words. @param {string} text */
export const searchFor = (text) => (text.match(WORD) ?? []).slice(0, MOST_WORDS).join(' ')

/**
 * Reads a year as people write it: `1950`, `1,900`, `−500`, `500 BC`.
 * @param {string} text
 * @returns {number | undefined} undefined if it is not a year, or larger than the service takes.
 */
export function readYear(text) {
  const plain = text
    .normalize('NFKC')
    .replaceAll(/\p{Dash}/gu, '-')
    .trim()
  const [, sign = '', digits, era = ''] =
    /^([-+]?) ?(\d+|\d{1,3}(?:[,.'’ ]\d{3})+) ?(bce?|ad|ce)?$/i.exec(plain) ?? []
  if (digits === undefined || (sign !== '' && era !== '')) return undefined
  const isBefore = sign === '-' || /^b/i.test(era)
  const year = Number(digits.replaceAll(/\D/g, '')) * (isBefore ? -1 : 1)
  // `+ 0` turns -0 into 0.
  return Number.isSafeInteger(year) ? year + 0 : undefined
}

/** A year as the list shows it; 0 stands for an unknown one, as imports store it. @param {number} year */
export function writeYear(year) {
  if (year === 0) return words.noYear
  // Others would not fit into their column.
  return Math.abs(year) < 1e6 ? yearText(year) : LARGE.format(year).replace(/^-(.*)/, '$1 BC')
}

/** Such as “13.8B BC”. */
const LARGE = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

/** The message about a text that is not a year. @param {string} text */
export const noYear = (text) => words.notAYear(quote(text))
