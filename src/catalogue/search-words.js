/**
 * Splits texts into words. A search ignores case, accents and punctuation, in every script. Every engine searches these
 * words, never the text itself, so all find the same books. The page marks what was found by the same rules: this is
 * JavaScript because browsers load it too.
 */

/**
 * The version of the rules in this file, which is in the names of what servers store. So an instance with other rules on
 * the same database has words of its own. A new version also needs a new step of the SQLite schema.
 */
export const WORDS_VERSION = 2

/** How much of a text is searched, in UTF-16 code units, and how many of its words are kept. */
export const SEARCHED_LENGTH = 4000
const MAX_WORDS = 4000

/** Words are cut to this many code points. */
const WORD_LENGTH = 32
const COUNTED = new RegExp(`.{0,${WORD_LENGTH}}`, 'suy')

/**
 * Marks that writers may omit: accents, and the vowel points of Hebrew and Arabic. Marks that are letters in their
 * script stay, such as the vowel signs of India or the Japanese voicing marks.
 */
const ACCENTS =
  /[[\p{Mn}&&[\p{sc=Inherited}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}]]--[\u3099\u309A]]/v

/** Characters within a word that do not count: soft hyphens, joiners, the tatweel, apostrophes that are letters. */
const INVISIBLE = /[\p{Cf}\u0640\u02B9-\u02BF]/v

const IGNORED = new RegExp(`${ACCENTS.source}|${INVISIBLE.source}`, 'gv')

/**
 * Only 64 combining marks in a row count. That is more than any language needs. V8 uses ICU, which sorts them by
 * insertion. A text of only marks would take it a hundred milliseconds.
 */
const MANY_MARKS = /([\p{M}\uFF9E\uFF9F]{64})[\p{M}\uFF9E\uFF9F]+/gv

/** These count after a letter or digit of ASCII, as in C++ and C#. The index has them as characters of private use. */
export const [PLUS, SHARP] = ['\uE000', '\uE001']

/**
 * Characters that count as others: letters that Unicode does not decompose, and those that writers exchange.
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
  // Hebrew letters at the end of a word.
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

/** The difference between a letter of katakana and that of hiragana. */
const TO_HIRAGANA = 0x3041 - 0x30a1

/** Syllables of Korean, and the letters in them that are written as others. */
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

/** Matches code points of two code units. */
const PAIRS = /[\uD800-\uDBFF]/

const ASCII = /^[\0-\x7F]*$/

/** Letters of Latin with and without accents, as single characters, and punctuation. */
const LATIN = /^[\0-\u024F]*$/
const ACCENTED = /[\x80-\u024F]/g

const SIGNS = new RegExp(`[${PLUS}${SHARP}]+`, 'gv')
export const WORD = new RegExp(`[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}]*(?:(?<=[a-z0-9])${SIGNS.source})?`, 'gv')

/** In the words of a search, signs before a letter divide words, as in "Copy+Paste". */
const DIVIDING = new RegExp(`(?<![${PLUS}${SHARP}])${SIGNS.source}(?=[a-z])`, 'gv')

/** The definite article, also after "and", before what may be a word: in Arabic, and in Hebrew. */
export const ARTICLE = /^([\u0648\u05D5]?)(?:\u0627\u0644|\u05D4)(?=\p{L}{3})/v

/** Scripts without spaces between words. A word may begin at any letter of them. */
const UNSPACED = String.raw`\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}`

/** Whether a search finds the word also where it is inside another one. @param {string} word */
export const isFoundInside = (word) => INSIDE.test(word)
const INSIDE = new RegExp(String.raw`^[${UNSPACED}\p{sc=Hang}]`, 'v')

/** A word may begin at any syllable of Korean. The letter before a vowel begins the next one. */
const VOWEL = String.raw`[\u1160-\u11A7]`
const SYLLABLE = String.raw`\p{sc=Hang}(?:${VOWEL}|\p{M}|\p{sc=Hang}(?!${VOWEL}))*`

/** The other scripts. A word may begin where the script changes. All that are not named count as one. */
const SPACED = ['Latn', 'Grek', 'Cyrl', 'Arab', 'Hebr'].map((name) => String.raw`\p{sc=${name}}`)

/** The parts of a word at each of which a word may begin. Digits belong to the letters after or before them. */
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
 * @returns the words of a text, each once. A search matches the beginning of any of them. The time is linear in the
 * length of the text.
 * @param {string} text
 */
export function wordsOf(text) {
  /** @type {Set<string>} */
  const words = new Set()
  for (const parts of wordsBetweenSpaces(fold(text.slice(0, SEARCHED_LENGTH)))) {
    // "Catch-22" is found as catch, 22 and catch22.
    if (parts.length > 1) words.add(cut(compose(parts.join('').replace(SIGNS, ''))))
    for (const part of parts) addWord(part, words)
    if (words.size >= MAX_WORDS) break
  }
  return [...words].slice(0, MAX_WORDS)
}

/**
 * Adds a word, those that begin within it, and, if it ends in signs, those without them.
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
  const isPaired = PAIRS.test(word)
  // `matchAll` takes five times as long for many short words.
  PARTS.lastIndex = 0
  for (let part = PARTS.exec(word); part !== null && words.size < MAX_WORDS; part = PARTS.exec(word)) {
    const begin = part.index
    words.add(isPaired ? cut(word, begin) : word.slice(begin, begin + WORD_LENGTH))
  }
  const plain = word.replace(SIGNS, '')
  if (plain !== word) addWord(plain, words)
}

/**
 * @returns the words of a search, each once. A book matches if each of them begins one of its words.
 * @param {string} text
 */
export function searchedWords(text) {
  const words = wordsBetweenSpaces(fold(text).replace(DIVIDING, ' ')).flat()
  return [...new Set(words.map((word) => cut(word)))]
}

/** @returns the words by which a book is found, each once. @param {Readonly<{ title: string, author: string }>} book */
export function wordsOfBook({ title, author }) {
  return [...new Set([...wordsOf(title), ...wordsOf(author)])]
}

/** The words of each part of a folded text between spaces. Equal parts count once. @param {string} text */
function wordsBetweenSpaces(text) {
  const parts = new Set(text.split(/\s+/v))
  return Array.from(parts, (part) => /** @type {readonly string[]} */ (part.match(WORD) ?? []))
}

/**
 * Removes differences of case and accents, those that Unicode calls compatible, and those of PLAIN.
 * @param {string} text
 */
export function fold(text) {
  const letters = foldLetters(text)
  return ASCII.test(letters) ? letters : compose(letters)
}

/** As `fold`, with marks apart from their letters, and the letters of Korean as they are. @param {string} text */
export function foldLetters(text) {
  if (!LATIN.test(text)) return foldAny(text)
  // Each of these characters folds by itself, whatever is beside it, which takes a fraction of the time.
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
      // Both ways, because some letters, such as ß, have no single letter of the other case.
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
  // In Unicode, the ten digits of a script follow one another, perhaps right after those of another script.
  let value = 0
  while (DIGIT.test(String.fromCodePoint(--code))) value++
  return String(value % 10)
}

/**
 * Joins letters and their marks, but divides Korean syllables into letters that do not tell whether they end a syllable
 * or begin the next. So what is typed of a word begins the word at every moment: `하`, `학` and `하기`; `고` and `과`.
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

/** @returns the first WORD_LENGTH code points of a text from an index on. @param {string} text */
function cut(text, begin = 0) {
  // A code point has at least one code unit. The pattern takes longer.
  if (text.length - begin <= WORD_LENGTH) return text.slice(begin)
  COUNTED.lastIndex = begin
  return COUNTED.exec(text)?.[0] ?? ''
}
