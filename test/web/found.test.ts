import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { searchedWords, splitByMatches } from '../../web/found.js'
import { referenceWords } from '../catalogue/search-words-reference.ts'

/** Letters of many scripts, marks and signs, of which random texts are made. */
const LETTERS = [
  ...'aAbc9é İŉßæΣςа4яأهىکגם가각과ㄱㅏㄳがかガｶﾞーヷ百𠮷第3スสวักောက្ខहिন্দ٣๒ﷺ㌖',
  ...'+#♯-.’?\u00AD\u200D\u0640\u0301\u0651\u05B0\u3099',
  ...['ال', 'وال', 'וה'],
]

describe('what the web page marks as found', () => {
  for (const [text, searched, parts] of [
    ['García Márquez', 'garc m', ['', 'Garc', 'ía ', 'M', 'árquez']],
    ['García', 'ga garc', ['', 'Garc', 'ía']],
    ['O\u00ADBrien', 'o', ['', 'O\u00AD', 'Brien']],
    ['Garci\u0301a', 'garci', ['', 'Garci\u0301', 'a']],
    ['O’Brien', 'brien', ['O’', 'Brien', '']],
    ['O’Brien and O’Brian', 'obri', ['', 'O’Bri', 'en and ', 'O’Bri', 'an']],
    ['Straße', 'strase', ['Straße']],
    ['Straße', 'strass', ['', 'Straß', 'e']],
    ['İstanbul', 'ista', ['', 'İsta', 'nbul']],
    ['Unbegun', 'begun', ['Unbegun']],
    ['はじめてのPython入門', 'python', ['はじめての', 'Python', '入門']],
    ['はじめてのPython入門', 'ハジ', ['', 'はじ', 'めてのPython入門']],
    ['第3巻', '3', ['第', '3', '巻']],
    ['한국어', '국', ['한', '국', '어']],
    ['한국어', '한ㄱ', ['', '한국', '어']],
    ['الكتاب', 'كتاب', ['ال', 'كتاب', '']],
    ['הספר', 'ספר', ['ה', 'ספר', '']],
    ['٢٠٢٤', '20', ['', '٢٠', '٢٤']],
    ['C, C++ and C#', 'c++', ['C, ', 'C++', ' and C#']],
    ['高行健', '行 高行', ['', '高行', '健']],
    ['高行健', '高行健 行', ['', '高行健', '']],
    ['O’Brien catches', 'catch obrien', ['', 'O’Brien', ' ', 'catch', 'es']],
    ['がか', 'か', ['が', 'か', '']],
    ['か\u00AD\u3099', 'か', ['か\u00AD\u3099']],
    ['Nothing', '', ['Nothing']],
  ] as const)
    it(`of “${text}” for “${searched}”`, () =>
      assert.deepEqual(splitByMatches(text, searchedWords(searched)), parts))

  it('is what the service finds, and nothing else', () => {
    const some = fc.array(fc.constantFrom(...LETTERS), { maxLength: 14 }).map((letters) => letters.join(''))
    /** Mostly a part of the text. */
    const texts = fc
      .tuple(some, fc.nat(), fc.integer({ min: 1, max: 4 }), fc.option(some, { freq: 4 }))
      .map(([text, begin, length, other]) => {
        const letters = [...text]
        const from = begin % Math.max(1, letters.length)
        return [text, other ?? letters.slice(from, from + length).join('')] as const
      })
    fc.assert(
      fc.property(texts, ([text, q]) => {
        const searched = searchedWords(q)
        const words = referenceWords(text)
        const isFound = searched.some((each) => words.some((word) => word.startsWith(each)))
        const parts = splitByMatches(text, searched)
        assert.equal(parts.join(''), text)
        assert.equal(parts.length > 1, isFound)
      }),
      { numRuns: 5000 },
    )
  })
})
