import { type IndexedField, isIndexedField } from './book.ts'
import type { SortName } from './query.ts'
import { foldLetters, PLUS, SHARP } from './search-words.js'

/**
 * The version of the rules in this file, which is in the names of what servers store, and in cursors. So an instance
 * with other rules on the same database has keys of its own. A new version also needs a new step of the SQLite schema.
 */
export const SORT_KEY_VERSION = 3

/** How much of a text counts in an order, in code points. */
export const COMPARED_LENGTH = 250
const COMPARED = new RegExp(`.{${COMPARED_LENGTH}}`, 'suy')

/** With the text and the separator, all engines can index this much. */
const FOLDED_LENGTH = 249

/** Divides a key. It is lower than every character of the part before it. */
export const SEPARATOR = '\u0001'

/**
 * Articles of English, German, French, Spanish, Italian and Dutch. Those that are more often another word in another of
 * these languages are not here, such as `en`, `den`, `des`, `i` and `o`.
 */
const ARTICLES = new Set(
  'the a an der die das ein eine le la les un une el los las il lo gli uno una de het een'.split(' '),
)

const LETTER = String.raw`[\p{L}\p{N}]`
const APOSTROPHE = "['‘’]"

/** Patterns in either case. The flag `i` would take several times as long. */
const ANY_CASE = Array.from(ARTICLES, (word) =>
  word.replace(/[a-z]/gv, (letter) => `[${letter}${letter.toUpperCase()}]`),
)

/**
 * What is passed over before the words of a title: signs and an article, if what follows may be a word, which it is not
 * in "A & B". An article has no accent: "À la carte" begins with the A.
 */
const BEFORE_TITLE = new RegExp(
  String.raw`^[^${LETTER}]*(?:(?:${ANY_CASE.join('|')})\s+(?![\s\p{Pd}\/&=+])|(?:[lL]|[uU][nN])${APOSTROPHE}\s*(?=${LETTER}))`,
  'v',
)

/** Apostrophes between letters do not count. Nor do signs, except in words such as C++ and C#. */
const WORD = new RegExp(
  `${LETTER}(?:[${LETTER}\\p{M}]|${APOSTROPHE}(?=${LETTER}))*(?:(?<=[a-z0-9])[${PLUS}${SHARP}]+)?`,
  'gv',
)

const DIGITS = /[0-9]+/g
const ZERO = 0x30

/** Texts of ASCII without apostrophes, `+` and `#`. */
const SIMPLE = /^[\0-"$-&\(-*,-\x7F]*$/v
const SIGNS = /[^a-z0-9]+/gv

const NOT_SHOWN = new RegExp(`[${APOSTROPHE}${PLUS}${SHARP}]`, 'gv')

/**
 * The key by which a field is sorted: keys are compared by code points. For a text, it is its words without case and
 * accents, with numbers by their value, the separator, and the text itself, which decides between equal words. So a key
 * tells the text that it was made of, as far as that counts. The time has a bound, whatever the text is.
 */
export function sortKey(name: SortName, value: string | number): string | number {
  if (typeof value === 'number' || !isIndexedField(name)) return value
  return wordsOfKey(name, value) + SEPARATOR + comparedPart(value)
}

/** The part of a sort key before the separator: words with one space between them; empty for a text without any. */
export function wordsOfKey(name: IndexedField, text: string): string {
  // Cut first: then a key has no more bytes than one of letters only, because the digits have one byte each.
  return cut(wordsInOrder(comparedPart(text), name === 'title'), FOLDED_LENGTH).replace(DIGITS, byValue)
}

/** The key where none is stored: by it, texts are sorted by their code points alone. */
export function plainKey(text: string): string {
  return SEPARATOR + comparedPart(text)
}

/** The beginning of a text that counts in an order. */
function comparedPart(text: string): string {
  // A code point has at least one code unit.
  if (text.length <= COMPARED_LENGTH) return text
  COMPARED.lastIndex = 0
  return COMPARED.exec(text)?.[0] ?? text
}

/** The text that a key was made of. */
export function textOfKey(key: string): string {
  return key.slice(key.indexOf(SEPARATOR) + 1)
}

/** A text of punctuation only has no words: it comes first. */
function wordsInOrder(text: string, passesArticles: boolean): string {
  const article = passesArticles ? BEFORE_TITLE.exec(text) : null
  if (article !== null) {
    const others = wordsOf(text.slice(article[0].length))
    if (others !== '' && others.split(' ').some((word) => !ARTICLES.has(word))) return others
  }
  return wordsOf(text)
}

function wordsOf(text: string): string {
  // The rest makes the same of these texts, and takes several times as long.
  if (SIMPLE.test(text)) return text.toLowerCase().replace(SIGNS, ' ').trim()
  // Composed, because syllables of Korean have their order as wholes.
  const words = foldLetters(text).normalize('NFC').match(WORD) ?? []
  return words.join(' ').replace(NOT_SHOWN, shown)
}

/**
 * Makes code points sort numbers by their value: drops leading zeros, and puts the count of the remaining digits first.
 * Counts from 0 to 8 have one digit; larger ones are a 9 and three digits.
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

function cut(text: string, length: number): string {
  if (text.length <= length) return text
  return [...text.slice(0, 2 * length)].slice(0, length).join('')
}
