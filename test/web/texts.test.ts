import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { wordsOf } from '../../src/catalogue/search-words.js'
import { CsvParser } from '../../src/files/csv-parser.ts'
import { guarded } from '../../src/files/write-books.ts'
import { csvOf } from '../../web/csv.js'
import { cut, legible, oneLine, quote, readYear, searchFor, short, writeYear } from '../../web/fields.js'
import { searchedWords, splitByMatches } from '../../web/found.js'

/** Letters of many scripts, marks and signs, of which random texts are made. */
const LETTERS = [
  ...'aAbc9é İŉßæΣςа4яأهىکגם가각과ㄱㅏㄳがかガｶﾞーヷ百𠮷第3スสวักောက្ខहिন্দ٣๒ﷺ㌖',
  ...'+#♯-.’?\u00AD\u200D\u0640\u0301\u0651\u05B0\u3099',
  ...['ال', 'وال', 'וה'],
]

/** What people type, by the year that it is; separated by “|”. */
const YEARS = [
  [1979, '1979'],
  [1900, '1,900|1.900|1\u00A0900'],
  [12_345_678, '12’345’678'],
  [1950, ' 1950 '],
  [1999, '１９９９'],
  [5, '+5'],
  [-500, '-500|- 500|−500|–500|500 BC|500bce'],
  [500, '500 AD|500 CE'],
  [0, '0|-0|0 BC'],
  [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  [Number.MIN_SAFE_INTEGER, '-9007199254740991'],
  [undefined, '| |abc|19x|1979 x|1,90|1,9000|1234,567|-500 BC|+5 AD|--5|5-|1e3|1.5'],
  [undefined, '9007199254740992|-9007199254740992'],
] as const

/** What is marked, in square brackets, by what is searched for. */
const MARKED = [
  ['garc m', '[Garc]ía [M]árquez'],
  ['ga garc', '[Garc]ía'],
  ['o', '[O\u00AD]Brien'],
  ['obri', '[O’Bri]en and [O’Bri]an'],
  ['strass', '[Straß]e'],
  ['begun', 'Unbegun'],
  ['ハジ', '[はじ]めてのPython入門'],
  ['한ㄱ', '[한국]어'],
  ['كتاب', 'ال[كتاب]'],
  ['20', '[٢٠]٢٤'],
  ['c++', 'C, [C++] and C#'],
  ['行 高行', '[高行]健'],
  ['か', 'が[か]'],
  ['', 'Nothing'],
] as const

describe('on the web page, a year that is typed', () => {
  it('is read as people write it', () => {
    for (const [year, typed] of YEARS)
      for (const text of typed.split('|')) assert.equal(readYear(text), year, `“${text}”`)
  })

  it('is written so that it can be typed again, and 0 as unknown', () => {
    for (const year of [1, 1979, -1, -500, 12_345]) assert.equal(readYear(writeYear(year)), year)
    assert.deepEqual([-500, 0, 1979].map(writeYear), ['500 BC', '—', '1979'])
    assert.deepEqual([-13_800_000_000, 9_007_199_254_740_991].map(writeYear), ['13.8B BC', '9010T'])
  })
})

describe('on the web page, a text', () => {
  it('is cut after so many characters, never within one, and only if it is longer', () => {
    const of = fc.array(fc.constantFrom('a', '🂡', 'é'), { maxLength: 8 })
    fc.assert(
      fc.property(of, (letters) => {
        const isLonger = letters.length > 4
        assert.equal(cut(letters.join(''), 4), letters.slice(0, 4).join('') + (isLonger ? '…' : ''))
      }),
    )
    const [sentence, row] = ['x'.repeat(60), 'x'.repeat(300)]
    assert.deepEqual([short(sentence), short(`${sentence}x`)], [sentence, `${sentence}…`])
    assert.deepEqual([oneLine(row), oneLine(`${row}x`)], [row, `${row}…`])
    assert.equal(quote(row), `“${sentence}…”`)
  })

  it('is in one line, says where others begin, and is named if there is nothing to see of it', () => {
    assert.equal(oneLine('a\r\nb\nc\rd\u2028e\u2029f'), 'a ↵ b ↵ c ↵ d ↵ e ↵ f')
    assert.equal(quote('a\nb'), '“a ↵ b”')
    assert.equal(legible(''), '(no title)')
    for (const title of [' ', '\n', '\u200B\u00AD', '\u3164', '\u2800 '])
      assert.equal(legible(title), '(blank title)')
    assert.equal(legible(' .\n'), ' . ↵ ')
  })

  it('is searched for by its words, of which a search may have 32', () => {
    assert.equal(searchFor('O’Brien, “C++” & co\u00ADop é 第3巻!'), 'O Brien C co\u00ADop é 第3巻')
    assert.equal(searchFor('… !'), '')
    const words = Array.from({ length: 33 }, (_, i) => `w${i}`)
    assert.equal(searchFor(words.join('-')), words.slice(0, 32).join(' '))
  })

  it('is marked where it is found', () => {
    for (const [searched, marked] of MARKED) {
      const parts = splitByMatches(marked.replaceAll(/[[\]]/g, ''), searchedWords(searched))
      assert.equal(parts.map((part, i) => (i % 2 === 0 ? part : `[${part}]`)).join(''), marked, searched)
    }
  })

  it('is marked if the service finds it, and only then', () => {
    const some = fc.array(fc.constantFrom(...LETTERS), { maxLength: 14 }).map((letters) => letters.join(''))
    /** Mostly a part of the text. */
    const texts = fc
      .tuple(some, fc.nat(), fc.integer({ min: 1, max: 4 }), fc.option(some, { freq: 4 }))
      .map(([text, begin, length, other]) => {
        const letters = [...text]
        const from = begin % Math.max(1, letters.length)
        return [text, other ?? letters.slice(from, from + length).join('')] as const
      })
    const property = fc.property(texts, ([text, q]) => {
      const searched = searchedWords(q)
      const words = wordsOf(text)
      const isFound = searched.some((each) => words.some((word) => word.startsWith(each)))
      const parts = splitByMatches(text, searched)
      assert.equal(parts.join(''), text)
      assert.equal(parts.length > 1, isFound)
    })
    fc.assert(property, { numRuns: 5000 })
  })
})

it('a CSV file that the web page makes is read as it was, and guards formulas as the service does', async () => {
  const cell = fc.string({ unit: fc.constantFrom(...`a=+-@＝';,"\n\r\t é`) })
  const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { maxLength: 5 })
  const property = fc.asyncProperty(table, async (rows) => {
    const file = csvOf([['Title', 'Author'], ...rows])
    assert.equal(file.type, 'text/csv')
    const bytes = Buffer.from(await file.arrayBuffer())
    assert.deepEqual(bytes.subarray(0, 3), Buffer.from('\ufeff'))
    const read = new CsvParser(',', () => new Set([0, 1]), true).push(bytes.subarray(3).toString(), true)
    assert.deepEqual(
      read.map(({ cells }) => cells),
      rows.map((cells) => cells.map(guarded)),
    )
  })
  await fc.assert(property, { numRuns: 500 })
})
