/**
 * The words of texts, so that a search finds a book whatever the case, the accents and the punctuation, in every
 * script. Every engine searches these words, never the text itself: so all find the same books. A change of the
 * rules needs a new version of every schema.
 */

/** The part of a text that is searched, in UTF-16 code units, and the words that are kept of it. */
export const SEARCHED_LENGTH = 4000
const MAX_WORDS = 4000

/** The part of a word that counts, in code points. */
const WORD_LENGTH = 32
const COUNTED = new RegExp(`.{0,${WORD_LENGTH}}`, 'suy')

/**
 * Marks that may be left out in writing: accents, and the vowel points of Hebrew and Arabic. Not those that are
 * letters in their script, such as the vowel signs of India or the Japanese voicing marks.
 */
const ACCENTS =
  /[[\p{Mn}&&[\p{sc=Inherited}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}]]--[\u3099\u309A]]/v

/** What stands within a word and is none of it: the soft hyphen, joiners, the tatweel, apostrophes that are letters. */
const INVISIBLE = /[\p{Cf}\u0640\u02B9-\u02BF]/v

const IGNORED = new RegExp(`${ACCENTS.source}|${INVISIBLE.source}`, 'gv')

/**
 * Combining marks in a row of which no more than 64 count; that is more than any language needs. ICU, and so V8, sorts
 * them by insertion: a text of nothing but marks would take it a hundred milliseconds.
 */
const MANY_MARKS = /([\p{M}\uFF9E\uFF9F]{64})[\p{M}\uFF9E\uFF9F]+/gv

/** Latin letters that Unicode does not take for others with an accent. */
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

/** Whether code points are two code units. */
const PAIRS = /[\uD800-\uDBFF]/

const ASCII = /^[\0-\x7F]*$/

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gv

/** Scripts that put no space between words: there a word may begin with every letter. */
const UNSPACED =
  /[\p{L}&&[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]]/gv

/**
 * @returns the words by which a text is found, each once; a search finds it by the beginning of any. It takes linear
 * time, whatever the text.
 */
export function wordsOf(text: string): string[] {
  const words = new Set<string>()
  for (const parts of wordsBetweenSpaces(text.slice(0, SEARCHED_LENGTH))) {
    // "Catch-22" is found as catch, 22 and catch22.
    if (parts.length > 1) words.add(cut(parts.join('')))
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

/** @returns the words of a search, each once: a book has to have one that begins so for every one of them. */
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

/** Whether a search for these words finds the book. */
export function hasWords(book: Texts, searched: readonly string[]): boolean {
  const words = wordsOfBook(book)
  return searched.every((start) => words.some((word) => word.startsWith(start)))
}

/** Whether the book has each of these words as a whole one, not only as the beginning of another. */
export function hasWholeWords(book: Texts, searched: readonly string[]): boolean {
  const words = new Set(wordsOfBook(book))
  return searched.every((word) => words.has(word))
}

/** The words of each part of the text that has no space in it, each part once. */
function wordsBetweenSpaces(text: string): string[][] {
  const parts = new Set(fold(text).split(/\s+/v))
  return Array.from(parts, (part) => part.match(WORD) ?? [])
}

/** Makes equal what differs in case, in accents, and in what Unicode calls compatible only. */
function fold(text: string): string {
  return (
    text
      .replace(MANY_MARKS, '$1')
      .normalize('NFKD')
      // Both ways, because there is no single letter of the other case for some, such as ß.
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

/** @returns the part that counts of the word that begins at an index of a text and goes on to its end. */
function cut(text: string, begin = 0): string {
  COUNTED.lastIndex = begin
  return COUNTED.exec(text)?.[0] ?? ''
}
