/**
 * The rules of src/words.ts in their plainest form, which takes quadratic time: what an index has was made by them,
 * so a faster form has to make the same words.
 */

const MAX_WORDS = 4000

const IGNORED =
  /[[\p{Mn}&&[\p{sc=Inherited}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}]]--[\u3099\u309A]]|[\p{Cf}\u0640\u02B9-\u02BF]/gv
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
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gv
const UNSPACED =
  /[\p{L}&&[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]]/gv

export function referenceWords(text: string): string[] {
  const words: string[] = []
  for (const part of fold(text.slice(0, 4000)).split(/\s+/v)) {
    const parts = part.match(WORD) ?? []
    if (parts.length > 1) words.push(parts.join('').normalize('NFC'))
    for (const each of parts) {
      words.push(each, ...Array.from(each.matchAll(UNSPACED), ({ index }) => each.slice(index)))
    }
  }
  return [...new Set(words.map((word) => [...word].slice(0, 32).join('')))].slice(0, MAX_WORDS)
}

/** Of so many marks in a row the others do not count. */
const cutMarks = (text: string) => text.replace(/([\p{M}\uFF9E\uFF9F]{64})[\p{M}\uFF9E\uFF9F]+/gv, '$1')

function fold(text: string): string {
  const plain = cutMarks(text)
    .normalize('NFKD')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replace(IGNORED, '')
    .replace(/[æðøþđħłœŧς]/gv, (letter) => PLAIN[letter] ?? letter)
  return cutMarks(plain).normalize('NFC')
}
