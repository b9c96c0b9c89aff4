/** Finds what a search matches in a text, by the same rules as the service. */

import { ARTICLE, fold, PARTS, WORD } from '#search-words'

export { searchedWords } from '#search-words'

/** A letter with its marks, even if characters that a search ignores are between them. */
const LETTER =
  /[^\p{M}\uFF9E\uFF9F](?:[\p{Cf}\u0640\u02B9-\u02BF]*[\p{M}\uFF9E\uFF9F])*|[\p{M}\uFF9E\uFF9F]+/gu

/**
 * Splits a text where the beginnings of its words match a search.
 * @param {string} text @param {readonly string[]} searched as `searchedWords` makes them.
 * @returns {string[]} the parts of the text, alternately outside and inside a match.
 */
export function splitByMatches(text, searched) {
  if (searched.length === 0) return [text]
  let folded = ''
  /** Where the letter of each folded character ends in the text. @type {number[]} */
  const ends = []
  /** Where it begins. @type {number[]} */
  const begins = []
  for (const { 0: letter, index } of text.matchAll(LETTER)) {
    folded += fold(letter)
    // A separate accent or joiner folds to nothing, and belongs to the letter before it.
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
    // Overlapping matches become one.
    if (from < reached) parts[parts.length - 1] += text.slice(reached, to)
    else parts.push(text.slice(reached, from), text.slice(from, to))
    reached = to
  }
  return [...parts, text.slice(reached)]
}

/**
 * The indexes of the first and the last character of each match in a folded text, in the order of the first.
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
  // "Catch-22" also matches catch22.
  for (const { 0: part, index } of folded.matchAll(/\S+/g)) {
    const places = Array.from(part.matchAll(/[\p{L}\p{N}]\p{M}*/gu), (letter) =>
      Array.from({ length: letter[0].length }, (_, i) => index + letter.index + i),
    ).flat()
    look(places.map((place) => folded[place]).join(''), 0, (place) => places[place])
  }
  return found.sort(([a], [b]) => a - b)
}

/** The indexes in a folded text at which a word may begin. @param {string} folded */
function* beginnings(folded) {
  for (const { 0: word, index } of folded.matchAll(WORD)) {
    const [{ length }, and = ''] = ARTICLE.exec(word) ?? ['']
    yield* [index, index + and.length, index + length]
    for (const part of word.matchAll(PARTS)) yield index + part.index
  }
}
