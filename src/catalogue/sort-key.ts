import { type IndexedField, isIndexedField } from './book.ts'
import type { SortName } from './query.ts'
import { cut, foldLetters, PLUS, SHARP } from './search-words.js'

/**
 * The version of these rules. Cursors and names in databases on servers contain it, so that instances with other rules
 * keep separate keys in one database. A new version also needs a step in the SQLite schema.
 */
export const SORT_KEY_VERSION = 3

/** The part of a text that counts in an order, in code points. */
export const COMPARED_LENGTH = 250

/** In code points. All engines can index this much together with the separator and the text. */
const FOLDED_LENGTH = 249

/** Separates the words of a key from the text. It is lower than every character of the words. */
export const SEPARATOR = '\u0001'

/**
 * Articles of English, German, French, Spanish, Italian and Dutch, except those that are more often another word in a
 * different language, such as `en`, `den`, `des`, `i` and `o`: the language of a title is not known.
 */
const ARTICLES =
  'the a an der die das ein eine le la les un une el los las il lo gli uno una de het een'.split(' ')
const ONLY_ARTICLES = new RegExp(`^(?:(?:${ARTICLES.join('|')})(?: |$))*$`)

const LETTER = String.raw`[\p{L}\p{N}]`
const APOSTROPHE = "['‘’]"

/** The flag `i` would take several times as long. */
const ANY_CASE = ARTICLES.map((word) =>
  word.replace(/[a-z]/gv, (letter) => `[${letter}${letter.toUpperCase()}]`),
)

/**
 * Skipped at the beginning of a title: punctuation and an article, if a word may follow, unlike in "A & B". An article
 * has no accent, so "À la carte" is sorted under A.
 */
const BEFORE_TITLE = new RegExp(
  String.raw`^[^${LETTER}]*(?:(?:${ANY_CASE.join('|')})\s+(?![\s\p{Pd}\/&=+])|(?:[lL]|[uU][nN])${APOSTROPHE}\s*(?=${LETTER}))`,
  'v',
)

/** Includes apostrophes between letters, which are removed later, and signs in words such as C++ and C#. */
const WORD = new RegExp(
  `${LETTER}(?:[${LETTER}\\p{M}]|${APOSTROPHE}(?=${LETTER}))*(?:(?<=[a-z0-9])[${PLUS}${SHARP}]+)?`,
  'gv',
)

const DIGITS = /[0-9]+/g
const ZERO = 0x30

/** ASCII texts without apostrophes, `+` and `#`. */
const SIMPLE = /^[\0-"$-&\(-*,-\x7F]*$/v
const SIGNS = /[^a-z0-9]+/gv

const NOT_SHOWN = new RegExp(`[${APOSTROPHE}${PLUS}${SHARP}]`, 'gv')

/**
 * @returns the key by which a field is sorted; keys are compared by code point. The key of a text consists of its words
 * without case and accents, in which numbers sort by their value; the separator; and the text itself, which decides
 * between equal words, and by which a key of an earlier text is recognised. The time is bounded for every text.
 */
export function sortKey(name: SortName, value: string | number): string | number {
  if (!isIndexedField(name)) return value
  const text = String(value)
  return wordsOfKey(name, text) + SEPARATOR + comparedPart(text)
}

/** @returns the words of a sort key, before the separator, with single spaces; empty for a text without words. */
export function wordsOfKey(name: IndexedField, text: string): string {
  // Cut before byValue() adds digits of one byte each, so that a key has no more bytes than one of letters only.
  return cut(wordsInOrder(comparedPart(text), name === 'title'), 0, FOLDED_LENGTH).replace(DIGITS, byValue)
}

/** @returns the key of a text where none is stored. It sorts texts by their code points alone. */
export function plainKey(text: string): string {
  return SEPARATOR + comparedPart(text)
}

const comparedPart = (text: string) => cut(text, 0, COMPARED_LENGTH)

/** @returns the text of which a key was made, cut to COMPARED_LENGTH. */
export function textOfKey(key: string): string {
  return key.slice(key.indexOf(SEPARATOR) + 1)
}

/** @returns nothing for a text of punctuation only, which therefore comes first. */
function wordsInOrder(text: string, passesArticles: boolean): string {
  const article = passesArticles ? BEFORE_TITLE.exec(text) : null
  if (article !== null) {
    const others = wordsOf(text.slice(article[0].length))
    if (!ONLY_ARTICLES.test(others)) return others
  }
  return wordsOf(text)
}

function wordsOf(text: string): string {
  // The code below has the same result for these texts, but takes several times as long.
  if (SIMPLE.test(text)) return text.toLowerCase().replace(SIGNS, ' ').trim()
  // Composed, because Korean is sorted by whole syllables.
  const words = foldLetters(text).normalize('NFC').match(WORD) ?? []
  return words.join(' ').replace(NOT_SHOWN, shown)
}

/**
 * Makes numbers sort by their value when they are compared by code point: removes leading zeros and prepends the number
 * of the remaining digits. Numbers from 0 to 8 are one digit; larger ones are a 9 and three digits.
 */
function byValue(digits: string): string {
  let zeros = 0
  while (digits.charCodeAt(zeros) === ZERO) zeros++
  const length = digits.length - zeros
  return `${length < 9 ? length : `9${String(length).padStart(3, '0')}`}${digits.slice(zeros)}`
}

function shown(character: string): string {
  if (character === PLUS) return '+'
  return character === SHARP ? '#' : ''
}
