/**
 * Splits texts into words. A search ignores case, accents and punctuation, in every script. Every engine searches these
 * words, never the text itself, so all find the same books. A change of the rules needs a new version of every schema.
 */

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

/** Letters that Unicode does not decompose. */
const PLAIN: Readonly<Record<string, string>> = {
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
}
const NOT_PLAIN = new RegExp(`[${Object.keys(PLAIN).join('')}]`, 'gv')

/** Matches code points of two code units. */
const PAIRS = /[\uD800-\uDBFF]/

const ASCII = /^[\0-\x7F]*$/

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gv

/** Letters of scripts without spaces between words. A word may begin at any of them. */
const UNSPACED =
  /[\p{L}&&[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]]/gv

/**
 * @returns the words of a text, each once. A search matches the beginning of any of them. The time is linear in the
 * length of the text.
 */
export function wordsOf(text: string): string[] {
  const words = new Set<string>()
  for (const parts of wordsBetweenSpaces(text.slice(0, SEARCHED_LENGTH))) {
    // "Catch-22" is found as catch, 22 and catch22.
    // Letters of the Korean alphabet on both sides of punctuation become one letter.
    if (parts.length > 1) words.add(cut(parts.join('').normalize('NFC')))
    for (const part of parts) {
      words.add(cut(part))
      if (!ASCII.test(part)) addUnspaced(part, words)
    }
    if (words.size >= MAX_WORDS) break
  }
  return [...words].slice(0, MAX_WORDS)
}

/** Adds the words that begin within the part, in scripts without spaces. */
function addUnspaced(part: string, words: Set<string>): void {
  const isPaired = PAIRS.test(part)
  // `matchAll` takes five times as long for many short parts.
  UNSPACED.lastIndex = 0
  while (words.size < MAX_WORDS) {
    const letter = UNSPACED.exec(part)
    if (letter === null) return
    const begin = letter.index
    words.add(isPaired ? cut(part, begin) : part.slice(begin, begin + WORD_LENGTH))
  }
}

/** @returns the words of a search, each once. A book matches if each of them begins one of its words. */
export function searchedWords(text: string): string[] {
  return [
    ...new Set(
      wordsBetweenSpaces(text)
        .flat()
        .map((word) => cut(word)),
    ),
  ]
}

/** The texts of a book that are searched. */
interface Texts {
  readonly title: string
  readonly author: string
}

/** @returns the words by which a book is found, each once. */
export function wordsOfBook({ title, author }: Texts): string[] {
  return [...new Set([...wordsOf(title), ...wordsOf(author)])]
}

/** The words of each part between spaces. Equal parts count once. */
function wordsBetweenSpaces(text: string): string[][] {
  const parts = new Set(fold(text).split(/\s+/v))
  return Array.from(parts, (part) => part.match(WORD) ?? [])
}

/** Removes differences of case and accents, and those that Unicode calls compatible. */
function fold(text: string): string {
  // The rest changes nothing in these texts, and takes several times as long.
  if (ASCII.test(text)) return text.toLowerCase()
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
      .replace(NOT_PLAIN, (letter) => PLAIN[letter] ?? letter)
      .replace(MANY_MARKS, '$1')
      .normalize('NFC')
  )
}

/** @returns the first WORD_LENGTH code points of a text from an index on. */
function cut(text: string, begin = 0): string {
  // A code point has at least one code unit. The pattern takes longer.
  if (text.length - begin <= WORD_LENGTH) return text.slice(begin)
  COUNTED.lastIndex = begin
  return COUNTED.exec(text)?.[0] ?? ''
}
