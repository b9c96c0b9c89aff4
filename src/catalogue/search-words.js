/**
 * Splits texts in any script into words without case, accents and punctuation. Every engine searches these words, never
 * the text itself, so all engines find the same books. This file is JavaScript because browsers load it too: the web
 * page marks matches by the same rules.
 */

/**
 * The version of these rules. Names in databases on servers contain it, so that instances with other rules keep
 * separate words in one database. A new version also needs a step in the SQLite schema.
 */
export const WORDS_VERSION = 2

/** The part of a text that is searched, in UTF-16 code units, and the number of its words that are kept. */
export const SEARCHED_LENGTH = 4000
const MAX_WORDS = 4000

/** Words are cut to this many code points. */
const WORD_LENGTH = 32

/**
 * Marks that writers may omit: accents, and the vowel points of Hebrew and Arabic. Marks that are letters of their
 * script are kept, such as Indian vowel signs and Japanese voicing marks.
 */
const ACCENTS =
  /[[\p{Mn}&&[\p{sc=Inherited}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}]]--[\u3099\u309A]]/v

/** Ignored within a word: soft hyphens, joiners, the tatweel, and apostrophes that are letters. */
const INVISIBLE = /[\p{Cf}\u0640\u02B9-\u02BF]/v

const IGNORED = new RegExp(`${ACCENTS.source}|${INVISIBLE.source}`, 'gv')

/**
 * Only 64 combining marks in a row count, more than any language needs. ICU, which V8 uses, sorts them in quadratic
 * time: a text of marks alone would take a hundred milliseconds.
 */
const MANY_MARKS = /([\p{M}\uFF9E\uFF9F]{64})[\p{M}\uFF9E\uFF9F]+/gv

/** `+` and `#` count after an ASCII letter or digit, as in C++ and C#. Words contain them as private-use characters. */
export const [PLUS, SHARP] = ['\uE000', '\uE001']

/**
 * Replacements for letters that Unicode does not decompose, and for letters that writers exchange.
 * @type {Readonly<Record<string, string>>}
 */
const PLAIN = {
  æ: 'ae',
  ð: 'd',
  ø: 'o',
  þ: 'th',
  đ: 'd',
  ħ: 'h',
  ł: 'l',
  œ: 'oe',
  ŧ: 't',
  ς: 'σ',
  '+': PLUS,
  '#': SHARP,
  '♯': SHARP,
  // Final forms of Hebrew letters.
  '\u05DA': '\u05DB',
  '\u05DD': '\u05DE',
  '\u05DF': '\u05E0',
  '\u05E3': '\u05E4',
  '\u05E5': '\u05E6',
  // Arabic: alef wasla, teh marbuta, alef maksura, and the Persian yeh and kaf.
  '\u0671': '\u0627',
  '\u0629': '\u0647',
  '\u0649': '\u064A',
  '\u06CC': '\u064A',
  '\u06A9': '\u0643',
}
const NOT_PLAIN = new RegExp(`[${Object.keys(PLAIN).join('')}[\\p{Nd}--[0-9]]\u30A1-\u30F6\u30FD]`, 'gv')

const DIGIT = /\p{Nd}/v

const TO_HIRAGANA = 0x3041 - 0x30a1

/** Korean syllables, and the letters in them that are replaced: compound vowels and final consonants. */
const SYLLABLES = /[\uAC00-\uD7A3]+/gv
const MADE_OF_OTHERS = /[\u116A-\u116C\u116F-\u1171\u1174\u11A8-\u11C2]/gv
const FIRST_FINAL = 0x11a8
const FINALS =
  'ᄀ ᄁ ᄀᄉ ᄂ ᄂᄌ ᄂᄒ ᄃ ᄅ ᄅᄀ ᄅᄆ ᄅᄇ ᄅᄉ ᄅᄐ ᄅᄑ ᄅᄒ ᄆ ᄇ ᄇᄉ ᄉ ᄊ ᄋ ᄌ ᄎ ᄏ ᄐ ᄑ ᄒ'.split(
    ' ',
  )
/** @type {Readonly<Record<string, string>>} */
const VOWELS = {
  ᅪ: 'ᅩᅡ',
  ᅫ: 'ᅩᅢ',
  ᅬ: 'ᅩᅵ',
  ᅯ: 'ᅮᅥ',
  ᅰ: 'ᅮᅦ',
  ᅱ: 'ᅮᅵ',
  ᅴ: 'ᅳᅵ',
}

const ASCII = /^[\0-\x7F]*$/

/** Latin letters, also with accents if these are part of one character, and punctuation. */
const LATIN = /^[\0-\u024F]*$/
const ACCENTED = /[\x80-\u024F]/g

const SIGNS = new RegExp(`[${PLUS}${SHARP}]+`, 'gv')
export const WORD = new RegExp(`[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}]*(?:(?<=[a-z0-9])${SIGNS.source})?`, 'gv')

const BETWEEN_SPACES = /\S+/gv
const SIMPLE = /^[a-z0-9]+$/

/** In a search, signs before a letter separate words, as in "Copy+Paste". */
const DIVIDING = new RegExp(`(?<![${PLUS}${SHARP}])${SIGNS.source}(?=[a-z])`, 'gv')

/** The Arabic or Hebrew definite article, perhaps after "and", before at least three letters. */
export const ARTICLE = /^([\u0648\u05D5]?)(?:\u0627\u0644|\u05D4)(?=\p{L}{3})/v

/** Scripts without spaces between words. In them, a word may begin at any letter. */
const UNSPACED = String.raw`\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}`

/** Whether a search also finds the word inside another one. @param {string} word */
export const isFoundInside = (word) => INSIDE.test(word)
const INSIDE = new RegExp(String.raw`^[${UNSPACED}\p{sc=Hang}]`, 'v')

/** In Korean, a word may begin at any syllable. The letter before a vowel begins the next syllable. */
const VOWEL = String.raw`[\u1160-\u11A7]`
const SYLLABLE = String.raw`\p{sc=Hang}(?:${VOWEL}|\p{M}|\p{sc=Hang}(?!${VOWEL}))*`

/** A word may begin where the script changes. All scripts that are not named count as one. */
const SPACED = ['Latn', 'Grek', 'Cyrl', 'Arab', 'Hebr'].map((name) => String.raw`\p{sc=${name}}`)

/** The parts of a word that may each begin a word. Digits belong to the letters after or before them. */
export const PARTS = new RegExp(
  [
    String.raw`[\p{L}&&[${UNSPACED}]]\p{M}*`,
    SYLLABLE,
    ...SPACED.map((script) => String.raw`[\p{N}\p{M}]*${script}[${script}\p{N}\p{M}]*`),
    String.raw`[[\p{L}\p{N}\p{M}]--[\p{L}&&[${UNSPACED}\p{sc=Hang}${SPACED.join('')}]]]+`,
  ].join('|'),
  'gv',
)

/**
 * @returns the words of a text, each once, in linear time. A search matches the beginning of any of them.
 * @param {string} text
 */
export const wordsOf = (text) => [...wordsIn(text)]

/** @param {string} text */
function wordsIn(text) {
  /** @type {Set<string>} */
  const words = new Set()
  for (const part of fold(text.slice(0, SEARCHED_LENGTH)).match(BETWEEN_SPACES) ?? []) {
    // Most need nothing else.
    if (SIMPLE.test(part)) words.add(cut(part))
    else {
      const inside = part.match(WORD) ?? []
      // "Catch-22" is found as catch, 22 and catch22.
      if (inside.length > 1) words.add(cut(compose(inside.join('').replace(SIGNS, ''))))
      for (const word of inside) addWord(word, words)
    }
  }
  return words.size > MAX_WORDS ? new Set([...words].slice(0, MAX_WORDS)) : words
}

/**
 * Adds a word and the words that begin within it; if it ends in `+` or `#`, also those of the word without them.
 * @param {string} word @param {Set<string>} words
 */
function addWord(word, words) {
  words.add(cut(word))
  if (ASCII.test(word)) return
  const article = ARTICLE.exec(word)
  if (article !== null) {
    const [{ length }, and = ''] = article
    words.add(cut(word, and.length))
    words.add(cut(word, length))
  }
  // For many short words, `matchAll` takes five times as long.
  PARTS.lastIndex = 0
  for (let part = PARTS.exec(word); part !== null && words.size < MAX_WORDS; part = PARTS.exec(word)) {
    words.add(cut(word, part.index))
  }
  const plain = word.replace(SIGNS, '')
  if (plain !== word) addWord(plain, words)
}

/** @returns the words of a search, each once. A book matches if each begins one of its words. @param {string} text */
export function searchedWords(text) {
  const words = fold(text).replace(DIVIDING, ' ').match(WORD) ?? []
  return [...new Set(words.map((word) => cut(word)))]
}

/** @returns the words by which a book is found, each once. @param {Readonly<{ title: string, author: string }>} book */
export function wordsOfBook({ title, author }) {
  const words = wordsIn(title)
  for (const word of wordsIn(author)) words.add(word)
  return [...words]
}

/** Removes differences of case, accents, Unicode compatibility (NFKD) and PLAIN. @param {string} text */
export function fold(text) {
  const letters = foldLetters(text)
  return ASCII.test(letters) ? letters : compose(letters)
}

/** Like `fold`, but leaves marks decomposed and Korean letters as they are. @param {string} text */
export function foldLetters(text) {
  if (!LATIN.test(text)) return foldAny(text)
  // Each of these characters folds independently of its neighbours, and a look-up takes a fraction of the time.
  const ascii = ASCII.test(text) ? text : text.replace(ACCENTED, foldCharacter)
  return ascii.toLowerCase().replace(NOT_PLAIN, plainOf)
}

/** @type {Map<string, string>} */
const foldedCharacters = new Map()

/** @param {string} character */
function foldCharacter(character) {
  const known = foldedCharacters.get(character)
  if (known !== undefined) return known
  const folded = foldAny(character)
  foldedCharacters.set(character, folded)
  return folded
}

/** @param {string} text */
function foldAny(text) {
  return (
    text
      .replace(MANY_MARKS, '$1')
      .normalize('NFKD')
      // In both directions, because some letters, such as ß, have no single letter of the other case.
      .toLowerCase()
      .toUpperCase()
      .toLowerCase()
      .normalize('NFKD')
      .replace(IGNORED, '')
      .replace(NOT_PLAIN, plainOf)
      .replace(MANY_MARKS, '$1')
  )
}

/** @param {string} character */
function plainOf(character) {
  const plain = PLAIN[character]
  if (plain !== undefined) return plain
  let code = character.codePointAt(0) ?? 0
  if (!DIGIT.test(character)) return String.fromCodePoint(code + TO_HIRAGANA)
  // In Unicode, the ten digits of a script are consecutive, and may directly follow those of another script.
  let value = 0
  while (DIGIT.test(String.fromCodePoint(--code))) value++
  return String(value % 10)
}

/**
 * Composes letters with their marks, but decomposes Korean syllables into letters that are the same at the beginning
 * and at the end of a syllable. What is typed of a word is thus always its prefix: `하`, `학` and `하기`; `고` and `과`.
 * @param {string} text
 */
function compose(text) {
  return text
    .normalize('NFC')
    .replace(SYLLABLES, (syllables) => syllables.normalize('NFD'))
    .replace(
      MADE_OF_OTHERS,
      (letter) => VOWELS[letter] ?? FINALS[letter.charCodeAt(0) - FIRST_FINAL] ?? letter,
    )
}

/** @returns at most `length` code points of a text from an index on. @param {string} text */
export function cut(text, begin = 0, length = WORD_LENGTH) {
  // A code point has at least one code unit.
  if (text.length - begin <= length) return text.slice(begin)
  let end = begin
  for (let count = 0; count < length && end < text.length; count++)
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  return text.slice(begin, end)
}
