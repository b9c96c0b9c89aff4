import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { searchedWords, wordsOf, wordsOfBook } from '../../src/catalogue/search-words.ts'
import { hasWholeWords, hasWords } from '../store/query-model.ts'
import { referenceWords } from './search-words-reference.ts'

/** What Unicode makes many characters of, or orders, joins, leaves out or writes without spaces. */
const NASTY = [
  ...'㌖㌫ﷺﷻﬃⅧ㍿㋿ᾷΐİŉßẞæŁς',
  ...'百年孤独がかガｶสวัสดีກາဗမာខ្មែរ한국어𠀀𠀁𐐀😀',
  ...'aA9é -\u2019\u00AD\u200D\u0640\u02BC\uD800',
  ...'\u0301\u0316\u0327\u0334\u0344\u0345\u034F\u05B0\u0651\u3099\u309A\uFF9E\uFF9F',
  ...'\u0E38\u0E48\u0E3A\u0EB8\u0EC8\u0F71\u0F72\u0F73\u0F74\u0F81\u094D\u093C\u302A\u1DCE\u0903\u20D0\u{1D165}',
]

/** Milliseconds that the words of a text take. */
function fastest(text: string): number {
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now()
    wordsOf(text)
    return performance.now() - start
  })
  return Math.min(...times)
}

describe('the words of a text', () => {
  const WORDS: Record<string, string[]> = {
    'The Left Hand': ['the', 'left', 'hand'],
    'the THE The': ['the'],
    'García Márquez': ['garcia', 'marquez'],
    'Garci\u0301a': ['garcia'],
    'Straße STRASSE STRAẞE': ['strasse'],
    'ŁÓDŹ Ægir søren đorđe œuvre þór': ['lodz', 'aegir', 'soren', 'dorde', 'oeuvre', 'thor'],
    'ΟΔΥΣΣΕΥΣ Ὀδυσσεύς': ['οδυσσευσ'],
    'İstanbul ırmak': ['istanbul', 'irmak'],
    Ёлка: ['елка'],
    "O'Brien": ['obrien', 'o', 'brien'],
    'Hawaiʻi co\u00adoperate می\u200cخواهم': ['hawaii', 'cooperate', 'میخواهم'],
    'Catch-22': ['catch22', 'catch', '22'],
    'ﬁne ２３ Ⅷ': ['fine', '23', 'viii'],
    百年孤独: ['百年孤独', '年孤独', '孤独', '独'],
    'がか ガ': ['がか', 'か', 'ガ'],
    สวัสดี: ['สวัสดี', 'วัสดี', 'สดี', 'ดี'],
    'हिन्दी की': ['हिन्दी', 'की'],
    'אָלֶף بِسْمِ كتـــاب': ['אלף', 'بسم', 'كتاب'],
    한국어: ['한국어'],
    // "(ᄀ)ᅡ" for Unicode: the two letters are one when the punctuation is left out.
    '㈀ￂ': ['가', 'ᄀ', 'ᅡ'],
    𐐀𐐨: ['𐐨𐐨'],
    '': [],
    ' \t\n': [],
    '😀 !? — …': [],
    '\u0301': [],
  }
  for (const [text, words] of Object.entries(WORDS)) {
    it(`of ${JSON.stringify(text)}`, () => assert.deepEqual(wordsOf(text), words))
  }

  it('count with their first 32 code points', () => {
    assert.deepEqual(wordsOf(`${'a'.repeat(33)} ${'a'.repeat(32)}b`), ['a'.repeat(32)])
    assert.deepEqual(wordsOf('𐐨'.repeat(33)), ['𐐨'.repeat(32)])
    assert.deepEqual(searchedWords('a'.repeat(99)), ['a'.repeat(32)])
  })

  it('are those of the first 4,000 characters', () => {
    assert.deepEqual(wordsOf(`${' '.repeat(3999)}a b`), ['a'])
    assert.equal(
      wordsOf(Array.from({ length: 5000 }, (_, i) => i.toString(36)).join(' ')).length < 4000,
      true,
    )
  })

  it('are at most 4,000', () => {
    // Each pair becomes three letters, and a word begins at each of them.
    const pairs = Array.from({ length: 1990 }, (_, i) => `${String.fromCodePoint(0x4e00 + i)}㍻`)
    assert.equal(wordsOf(`${pairs.join('')}-a-b`).length, 4000)
  })

  it('are those of the plainest algorithm, whatever the text', () => {
    const nasty = fc.constantFrom(...NASTY)
    const some = fc.array(nasty, { maxLength: 100 })
    const many = fc
      .tuple(fc.array(nasty, { minLength: 1, maxLength: 8 }), fc.integer({ min: 20, max: 1500 }), some)
      .map(([repeated, times, others]) => [...Array(times).fill(repeated).flat(), ...others])
    const marks = fc.array(fc.constantFrom(...NASTY.slice(NASTY.indexOf('\u0301'))), { maxLength: 600 })
    const text = fc.oneof(some, many, marks, fc.tuple(some, marks, some)).map((all) => all.flat().join(''))
    fc.assert(
      fc.property(text, (text) => assert.deepEqual(wordsOf(text), referenceWords(text))),
      { numRuns: 300 },
    )
  })

  it('are those of the plainest algorithm of any character', () => {
    for (let code = 0; code <= 0x10ffff; code += 251) {
      const character = String.fromCodePoint(code)
      const text = `a${character}\u0301 ${character.repeat(70)}\u0316${character} ${character}${'\u0316\u0301'.repeat(40)}`
      assert.deepEqual(wordsOf(text), referenceWords(text), code.toString(16))
    }
  })

  it('take about as long to make of any text as of one in Chinese', () => {
    const chinese = fastest(Array.from({ length: 4000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join(''))
    const nasty = [
      '㌖',
      'ﷺ',
      '㌖-',
      '㌖𠀀',
      'สวัสดี',
      '\u0344\u0316\u0327',
      '\u0F73\u0334',
      'ก\u034F\u0EC8\u0E38',
    ]
    for (const unit of nasty) {
      const time = fastest(unit.repeat(4000 / unit.length))
      assert.ok(time < 20 * chinese, `${unit}: ${time} ms, and Chinese ${chinese} ms`)
    }
    const marks = fastest('\u0344'.repeat(2000) + '\u0316'.repeat(2000))
    assert.ok(marks < 20 * chinese, `marks: ${marks} ms, and Chinese ${chinese} ms`)
  })

  it('are found by their beginning, and by themselves, whatever the text', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 60 })
    fc.assert(
      fc.property(text, text, (title, author) => {
        const words = wordsOf(title)
        for (const word of words) {
          assert.match(word, /^[\p{L}\p{N}][\p{L}\p{N}\p{M}]*$/v)
          assert.ok(!/[A-Z]/.test(word))
        }
        assert.ok(hasWords({ title, author }, searchedWords(title).slice(0, 20)))
        assert.deepEqual(words.flatMap(searchedWords), words, 'a word is no word any more')
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a search', () => {
  it('has each of its words once, as they stand between spaces and punctuation', () => {
    assert.deepEqual(searchedWords("O'Brien, o’brien GARCÍA 百年孤独"), ['o', 'brien', 'garcia', '百年孤独'])
    assert.deepEqual(searchedWords('…'), [])
  })

  it('finds a book by the beginnings of words in title and author, all of them', () => {
    const book = { title: 'Cien años de soledad', author: 'Gabriel García Márquez' }
    const finds = (text: string) => hasWords(book, searchedWords(text))
    assert.ok(finds('garcia marquez') && finds('GARCÍA') && finds('sol gab') && finds('d'))
    assert.ok(!finds('oledad') && !finds('garcia x') && !finds('soledadx'))
  })

  it('tells whole words in title and author from beginnings', () => {
    const book = { title: 'The cat', author: 'Cat Catalogue' }
    const isWhole = (text: string) => hasWholeWords(book, searchedWords(text))
    assert.deepEqual(wordsOfBook(book), ['the', 'cat', 'catalogue'])
    assert.ok(isWhole('CAT the') && isWhole('catalogue') && !isWhole('cata') && !isWhole('the c'))
  })
})
