/** The rules of src/catalogue/sort-key.ts in their plainest form, character by character. */
import assert from 'node:assert/strict'
import { foldLetters } from '../../src/catalogue/search-words.js'

export const ARTICLES =
  'the a an der die das ein eine le la les un une el los las il lo gli uno una de het een'.split(' ')
const ELIDED = ['l', 'un']
const APOSTROPHES = ["'", '‘', '’']

const isLetter = (character: string | undefined) => character !== undefined && /[\p{L}\p{N}]/v.test(character)

/** The words by which a text is sorted, with numbers as they are usually written, and the text as far as it counts. */
export function referenceKey(name: 'title' | 'author', text: string): [words: string, text: string] {
  const compared = [...text].slice(0, 250).join('')
  const rest = name === 'title' ? afterArticle([...compared]) : undefined
  const others = rest === undefined ? undefined : words(rest)
  const isMore = others?.some((word) => !ARTICLES.includes(word))
  const counted = [...(isMore && others ? others : words(compared)).join(' ')].slice(0, 249).join('')
  return [counted.replace(/[0-9]+/g, (digits) => String(BigInt(digits))), compared]
}

/** The words of a key with the numbers as they are usually written: without the number of their digits before them. */
export function usualNumbers(words: string): string {
  return words.replace(/[0-9]+/g, (number) => {
    const [, short, long = ''] = /^(?:9(...)|.)(.*)$/.exec(number) ?? []
    assert.equal(long.length, Number(short ?? number[0]), number)
    return long || '0'
  })
}

/** Compares words: numbers by their value, everything else by code point. */
export function compareByWords(a: string, b: string): number {
  const parts = (text: string) => text.match(/[0-9]+|[^0-9]/gv) ?? []
  const [left, right] = [parts(a), parts(b)]
  for (const [i, part] of left.entries()) {
    const other = right[i]
    if (other === undefined) return 1
    if (part === other) continue
    const [first, second] = [part, other].every((each) => /[0-9]/.test(each))
      ? [BigInt(part), BigInt(other)]
      : [part.codePointAt(0) ?? 0, other.codePointAt(0) ?? 0]
    return first < second ? -1 : 1
  }
  return left.length - right.length
}

/** What follows an article at the beginning; undefined if there is none. */
function afterArticle(characters: readonly string[]): string | undefined {
  const begin = characters.findIndex(isLetter)
  if (begin === -1) return undefined
  let end = begin
  while (/[A-Za-z]/v.test(characters[end] ?? '')) end++
  const word = characters.slice(begin, end).join('').toLowerCase()
  const isElided = ELIDED.includes(word) && APOSTROPHES.includes(characters[end] ?? '')
  let next = isElided ? end + 1 : end
  while (/\s/v.test(characters[next] ?? '')) next++
  const isArticle = isElided
    ? isLetter(characters[next])
    : ARTICLES.includes(word) && next > end && !/[\p{Pd}\/\&=+]/v.test(characters[next] ?? '')
  return isArticle ? characters.slice(next).join('') : undefined
}

/** Words of letters, digits and their marks, and of the signs after a letter or digit of ASCII. */
function words(text: string): string[] {
  const found: string[] = []
  let word = ''
  const characters = [...foldLetters(text).normalize('NFC')]
  const end = () => {
    if (word !== '') found.push(word)
    word = ''
  }
  for (const [i, character] of characters.entries()) {
    const sign = character === '\uE000' ? '+' : character === '\uE001' ? '#' : undefined
    const hasSigns = /[+#]$/v.test(word)
    if (sign !== undefined) {
      if (hasSigns || /[a-z0-9]$/v.test(word)) word += sign
      else end()
      continue
    }
    const isJoined = !hasSigns && word !== ''
    if (isJoined && APOSTROPHES.includes(character) && isLetter(characters[i + 1])) continue
    if (isJoined && /\p{M}/v.test(character)) word += character
    else if (isLetter(character)) {
      if (hasSigns) end()
      word += character
    } else end()
  }
  end()
  return found
}
