import { words } from './words.js'

/** As much of a title as a sentence, or a row, has room for. */
const [LONGEST_QUOTED, LONGEST_SHOWN] = [60, 300]

/** Nothing but characters that nobody sees. */
const BLANK = /^[\s\p{Cc}\p{Cf}\u115F\u1160\u2800\u3164\uFFA0]*$/u

/** A text in one line, so that no two that differ there look alike. @param {string} text */
export const oneLine = (text) => cut(text.replaceAll(/\r\n|[\n\r\u2028\u2029]/g, ' ↵ '), LONGEST_SHOWN)

/** A title, or that there is none to be seen. @param {string} title */
export function legible(title) {
  if (title === '') return words.noTitle
  return BLANK.test(title) ? words.blankTitle : oneLine(title)
}

/** A text in a sentence. @param {string} text */
export const short = (text) => cut(text, LONGEST_QUOTED)

/** A title in a sentence. @param {string} title */
export const quote = (title) => `“${short(legible(title))}”`

/** @param {string} text @param {number} length in code points. */
export function cut(text, length) {
  if (text.length <= length) return text
  const start = Array.from(text.slice(0, 2 * length))
    .slice(0, length)
    .join('')
  return start === text ? text : `${start}…`
}

/** Characters that nobody sees do not divide words, such as joiners. */
const WORD = /[\p{L}\p{M}\p{N}\p{Cf}]+/gu

/** How many words a search may have. */
const MOST_WORDS = 32

/** What to search for to find a text; empty if it has no words. @param {string} text */
export const searchFor = (text) => (text.match(WORD) ?? []).slice(0, MOST_WORDS).join(' ')

/**
 * A year as people write it: `1950`, `1,900`, `−500`, `500 BC`.
 * @param {string} text
 * @returns {number | undefined} undefined if it is none, or larger than the service takes.
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
  // Not -0.
  return Number.isSafeInteger(year) ? year + 0 : undefined
}

/** A year as people type it. @param {number} year */
export const typeYear = (year) => (year < 0 ? words.yearBefore(-year) : String(year))

/** A year as people write it; 0 stands for an unknown one, as imports store it. @param {number} year */
export const writeYear = (year) => (year === 0 ? words.noYear : typeYear(year))

/** What to say of a text that is no year. @param {string} text */
export const noYear = (text) => words.notAYear(quote(text))
