/**
 * What a search finds in a text, by the rules of the service: src/catalogue/search-words.ts has them with their reasons.
 * The expressions here are those that more browsers know.
 */

const IGNORED =
  /(?![\u3099\u309A])(?=\p{Mn})[\p{sc=Zinh}\p{sc=Cyrl}\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}]|[\p{Cf}\u0640\u02B9-\u02BF]/gu

/** @type {Readonly<Record<string, string>>} */
const PLAIN = Object.fromEntries(
  (
    'æae ðd øo þth đd ħh łl œoe ŧt ςσ +\uE000 #\uE001 ♯\uE001 \u05DA\u05DB \u05DD\u05DE \u05DF\u05E0 \u05E3\u05E4 ' +
    '\u05E5\u05E6 \u0671\u0627 \u0629\u0647 \u0649\u064A \u06CC\u064A \u06A9\u0643 ᅪᅩᅡ ᅫᅩᅢ ᅬᅩᅵ ᅯᅮᅥ ᅰᅮᅦ ᅱᅮᅵ ᅴᅳᅵ'
  )
    .split(' ')
    .map(([from = '', ...to]) => [from, to.join('')]),
)
const FINALS =
  'ᄀ ᄁ ᄀᄉ ᄂ ᄂᄌ ᄂᄒ ᄃ ᄅ ᄅᄀ ᄅᄆ ᄅᄇ ᄅᄉ ᄅᄐ ᄅᄑ ᄅᄒ ᄆ ᄇ ᄇᄉ ᄉ ᄊ ᄋ ᄌ ᄎ ᄏ ᄐ ᄑ ᄒ'.split(
    ' ',
  )
const KATAKANA = /[\u30A1-\u30F6\u30FD]/
const DIGIT = /\p{Nd}/u

/** A letter with its marks, also after a character that does not count. */
const LETTER =
  /[^\p{M}\uFF9E\uFF9F](?:[\p{Cf}\u0640\u02B9-\u02BF]*[\p{M}\uFF9E\uFF9F])*|[\p{M}\uFF9E\uFF9F]+/gu

const WORD = /(?=[\p{L}\p{N}])(?:[\p{L}\p{N}\p{M}]*[a-z0-9][\uE000\uE001]+|[\p{L}\p{N}\p{M}]+)/gu
const WORD_LENGTH = 32

const ARTICLE = /^([\u0648\u05D5]?)(?:\u0627\u0644|\u05D4)(?=\p{L}{3})/u
const UNSPACED =
  '\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Bopo}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}'
const SPACED = ['Latn', 'Grek', 'Cyrl', 'Arab', 'Hebr'].map((name) => `\\p{sc=${name}}`)
const PARTS = new RegExp(
  [
    `(?=\\p{L})[${UNSPACED}]\\p{M}*`,
    '\\p{sc=Hang}(?:[\\u1160-\\u11A7\\p{M}]|\\p{sc=Hang}(?![\\u1160-\\u11A7]))*',
    ...SPACED.map((script) => `[\\p{N}\\p{M}]*${script}[${script}\\p{N}\\p{M}]*`),
    `(?:(?!(?=\\p{L})[${UNSPACED}\\p{sc=Hang}${SPACED.join('')}])[\\p{L}\\p{N}\\p{M}])+`,
  ].join('|'),
  'gu',
)

/** A text as a search compares it: without case and accents. @param {string} text */
export const fold = (text) => (/^[\w ]*$/.test(text) ? text.toLowerCase() : foldAny(text))

/** @param {string} text */
const foldAny = (text) =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replace(IGNORED, '')
    .replace(/[^a-z ]/gu, plain)
    .normalize('NFC')
    .replace(/[\uAC00-\uD7A3]+/g, (syllables) => syllables.normalize('NFD'))
    .replace(
      /[\u116A-\u1174\u11A8-\u11C2]/g,
      (letter) => FINALS[letter.charCodeAt(0) - 0x11a8] ?? plain(letter),
    )

/** @param {string} character */
function plain(character) {
  let code = character.codePointAt(0) ?? 0
  if (KATAKANA.test(character)) return String.fromCodePoint(code - 0x60)
  if (!DIGIT.test(character)) return PLAIN[character] ?? character
  let value = 0
  while (DIGIT.test(String.fromCodePoint(--code))) value++
  return String(value % 10)
}

/** The words of a search. @param {string} q */
export function searchedWords(q) {
  const words = fold(q)
    .replace(/[\uE000\uE001]+(?=[a-z])/g, ' ')
    .match(WORD)
  return (words ?? []).map((word) => Array.from(word).slice(0, WORD_LENGTH).join(''))
}

/**
 * Where words of a text begin as a search has it.
 * @param {string} text @param {readonly string[]} searched as `searchedWords` makes them.
 * @returns {string[]} the parts of the text, alternately outside and inside of what was found.
 */
export function splitByMatches(text, searched) {
  if (searched.length === 0) return [text]
  let folded = ''
  /** Where the letter of each folded character ends. @type {number[]} */
  const ends = []
  /** Where it begins. @type {number[]} */
  const begins = []
  for (const { 0: letter, index } of text.matchAll(LETTER)) {
    folded += fold(letter)
    // An accent or a joiner of its own belongs to the letter before it.
    if (ends.length === folded.length && ends.length > 0) ends[ends.length - 1] = index + letter.length
    while (ends.length < folded.length) {
      begins.push(index)
      ends.push(index + letter.length)
    }
  }
  const parts = []
  let reached = 0
  for (const [first, last] of matches(folded, searched)) {
    const [from = 0, to = 0] = [begins[first], ends[last]]
    if (to <= reached) continue
    // What overlaps is one.
    if (from < reached) parts[parts.length - 1] += text.slice(reached, to)
    else parts.push(text.slice(reached, from), text.slice(from, to))
    reached = to
  }
  return [...parts, text.slice(reached)]
}

/**
 * The first and the last character of each match in a folded text, by the first.
 * @param {string} folded @param {readonly string[]} searched
 */
function matches(folded, searched) {
  /** @type {[number, number][]} */
  const found = []
  /** @param {string} text @param {number} begin @param {(index: number) => number | undefined} place */
  const look = (text, begin, place) => {
    const lengths = searched.filter((word) => text.startsWith(word, begin)).map(({ length }) => length)
    if (lengths.length > 0) found.push([place(begin) ?? 0, place(begin + Math.max(...lengths) - 1) ?? 0])
  }
  for (const begin of beginnings(folded)) look(folded, begin, (index) => index)
  // "Catch-22" is found as catch22.
  for (const { 0: part, index } of folded.matchAll(/\S+/g)) {
    const places = Array.from(part.matchAll(/[\p{L}\p{N}]\p{M}*/gu), (letter) =>
      Array.from({ length: letter[0].length }, (_, i) => index + letter.index + i),
    ).flat()
    look(places.map((place) => folded[place]).join(''), 0, (place) => places[place])
  }
  return found.sort(([a], [b]) => a - b)
}

/** Where words begin in a folded text. @param {string} folded */
function* beginnings(folded) {
  for (const { 0: word, index } of folded.matchAll(WORD)) {
    const [{ length }, and = ''] = ARTICLE.exec(word) ?? ['']
    yield* [index, index + and.length, index + length]
    for (const part of word.matchAll(PARTS)) yield index + part.index
  }
}
