import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { hasWholeWords, hasWords, searchedWords, wordsOf, wordsOfBook } from '../src/words.ts'

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
