/**
 * The rules of src/catalogue/search-words.js in their plainest form, character by character, which takes quadratic time:
 * what an index has was made by them, so a faster form has to make the same words.
 */

const MAX_WORDS = 4000

const IGNORED =
  /[[\p{Mn}&&[\p{sc=Inherited}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}]]--[\u3099\u309A]]|[\p{Cf}\u0640\u02B9-\u02BF]/gv
const PLAIN = new Map([
  ...pairs('æ ae ð d ø o þ th đ d ħ h ł l œ oe ŧ t ς σ'),
  ...pairs('ך כ ם מ ן נ ף פ ץ צ'),
  ...pairs('ٱ ا ة ه ى ي ی ي ک ك'),
  ...pairs('+ \uE000 # \uE001 ♯ \uE001'),
  ...pairs('ヽ ゝ'),
  // Katakana, and the digits of every script, which are consecutive in Unicode.
  ...characters(0x30a1, 0x30f6).map((letter, i): [string, string] => [
    letter,
    String.fromCodePoint(0x3041 + i),
  ]),
  ...characters(0x660, 0x1ffff)
    .filter((character) => /\p{Nd}/v.test(character))
    .map((digit, i): [string, string] => [digit, String(i % 10)]),
])

/** The letters of Korean syllables, in the order of Unicode. */
const KOREAN = {
  first: [...'ᄀᄁᄂᄃᄄᄅᄆᄇᄈᄉᄊᄋᄌᄍᄎᄏᄐᄑᄒ'],
  vowel: 'ᅡ ᅢ ᅣ ᅤ ᅥ ᅦ ᅧ ᅨ ᅩ ᅩᅡ ᅩᅢ ᅩᅵ ᅭ ᅮ ᅮᅥ ᅮᅦ ᅮᅵ ᅲ ᅳ ᅳᅵ ᅵ'.split(' '),
  last: ' ᄀ ᄁ ᄀᄉ ᄂ ᄂᄌ ᄂᄒ ᄃ ᄅ ᄅᄀ ᄅᄆ ᄅᄇ ᄅᄉ ᄅᄐ ᄅᄑ ᄅᄒ ᄆ ᄇ ᄇᄉ ᄉ ᄊ ᄋ ᄌ ᄎ ᄏ ᄐ ᄑ ᄒ'.split(
    ' ',
  ),
}
const isVowel = (letter: string | undefined) => letter !== undefined && /[\u1160-\u11A7]/v.test(letter)

/** The words of a book's text. */
export function referenceWords(text: string): string[] {
  const words: string[] = []
  for (const part of new Set(fold(text.slice(0, 4000)).split(/\s+/v))) {
    const parts = tokens(part)
    if (parts.length > 1) words.push(compose(parts.map(withoutSigns).join('')))
    for (const each of parts) {
      words.push(...beginnings(each))
      if (withoutSigns(each) !== each) words.push(...beginnings(withoutSigns(each)))
    }
  }
  return [...new Set(words.map(cut))].slice(0, MAX_WORDS)
}

/** The words of a search. */
export function referenceSearch(text: string): string[] {
  const words = fold(text)
    .split(/\s+/v)
    .flatMap((part) => tokens(part.replace(/[\uE000\uE001]+(?=[a-z])/gv, '-')))
  return [...new Set(words.map(cut))]
}

const cut = (word: string) => [...word].slice(0, 32).join('')

const withoutSigns = (word: string) => word.replaceAll(/[\uE000\uE001]/gv, '')

/** Letters, digits and their marks, and the signs after a letter or digit of ASCII. */
function tokens(part: string): string[] {
  const found: string[] = []
  let word = ''
  for (const character of part) {
    const isSign = /[\uE000\uE001]/v.test(character)
    const hasSigns = /[\uE000\uE001]$/v.test(word)
    const goesOn = isSign
      ? hasSigns || /[a-z0-9]$/v.test(word)
      : /[\p{L}\p{N}]/v.test(character) || (/\p{M}/v.test(character) && word !== '')
    if (word !== '' && (!goesOn || (hasSigns && !isSign))) {
      found.push(word)
      word = ''
    }
    if (goesOn && (word !== '' || !/\p{M}/v.test(character))) word += character
  }
  return word === '' ? found : [...found, word]
}

/** All words that begin in a word, itself first. */
function beginnings(word: string): string[] {
  const letters = [...word]
  const begins = [0, ...article(word)]
  let script = ''
  for (const [i, letter] of letters.entries()) {
    if (!/[\p{L}\p{N}]/v.test(letter)) continue
    const own = scriptOf(letter)
    if (own === 'digits' && script !== 'unspaced' && script !== 'Korean') {
      script ||= own
      continue
    }
    const isInSyllable = isVowel(letter) || !isVowel(letters[i + 1])
    const isSame = own === 'Korean' ? script === own && isInSyllable : own !== 'unspaced' && script === own
    const isAfterDigits = script === 'digits' && own !== 'unspaced' && own !== 'Korean'
    if (!isSame && !isAfterDigits) begins.push(i)
    script = own
  }
  return begins.map((begin) => letters.slice(begin).join(''))
}

const SCRIPTS = {
  digits: /\p{N}/v,
  unspaced: /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/v,
  Korean: /\p{sc=Hang}/v,
  Latin: /\p{sc=Latn}/v,
  Greek: /\p{sc=Grek}/v,
  Cyrillic: /\p{sc=Cyrl}/v,
  Arabic: /\p{sc=Arab}/v,
  Hebrew: /\p{sc=Hebr}/v,
}

function scriptOf(letter: string): string {
  return Object.entries(SCRIPTS).find(([, letters]) => letters.test(letter))?.[0] ?? 'other'
}

/** Where a word begins after "and", and after the article. */
function article(word: string): number[] {
  const [, and, the] = /^([وו]?)(ال|ה)\p{L}{3}/v.exec(word) ?? []
  return and === undefined || the === undefined ? [] : [and.length, and.length + the.length]
}

/** Of so many marks in a row the others do not count. */
const cutMarks = (text: string) => text.replace(/([\p{M}\uFF9E\uFF9F]{64})[\p{M}\uFF9E\uFF9F]+/gv, '$1')

const fold = (text: string) => compose(foldedLetters(text))

/** A text without case and accents, before Korean is divided into letters. */
export function foldedLetters(text: string): string {
  const plain = cutMarks(text)
    .normalize('NFKD')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replace(IGNORED, '')
  return cutMarks(Array.from(plain, (letter) => PLAIN.get(letter) ?? letter).join(''))
}

function compose(text: string): string {
  return Array.from(text.normalize('NFC'), (letter) => {
    const syllable = letter.charCodeAt(0) - 0xac00
    if (syllable >= 0 && syllable < 19 * 21 * 28) {
      const [first, vowel] = [Math.floor(syllable / 588), Math.floor((syllable % 588) / 28)]
      return `${KOREAN.first[first]}${KOREAN.vowel[vowel]}${KOREAN.last[syllable % 28]}`
    }
    const vowel = letter.charCodeAt(0) - 0x1161
    const last = letter.charCodeAt(0) - 0x11a7
    return KOREAN.vowel[vowel] ?? (last > 0 ? KOREAN.last[last] : undefined) ?? letter
  }).join('')
}

function pairs(text: string): [string, string][] {
  const all = text.split(' ')
  return all.flatMap((from, i): [string, string][] => (i % 2 === 0 ? [[from, all[i + 1] ?? '']] : []))
}

function characters(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i))
}
