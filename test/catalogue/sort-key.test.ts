import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { plainKey, SEPARATOR, sortKey, textOfKey } from '../../src/catalogue/sort-key.ts'
import { anyText } from '../support/any-text.ts'
import { ARTICLES, referenceKey, usualNumbers } from './sort-key-reference.ts'

/** The words of a key, with its numbers as they are usually written. */
const words = (name: 'title' | 'author', text: string) =>
  usualNumbers(String(sortKey(name, text)).split(SEPARATOR)[0] ?? '')

/** Texts and what they are sorted by, without the text itself. */
const TITLES: Record<string, string> = {
  'The Hobbit': 'hobbit',
  'A Tale of Two Cities': 'tale of two cities',
  'L’Étranger': 'etranger',
  'Un’altra vita': 'altra vita',
  '“The Genius”': 'genius',
  'The $64,000 Question': '64 0 question',
  '¿Qué?': 'que',
  'La La Land': 'la land',
  // No articles.
  A: 'a',
  'The The': 'the the',
  'The …': 'the',
  'A & B': 'a b',
  'A–Z of Gardens': 'a z of gardens',
  'A+': 'a+',
  'À la recherche': 'a la recherche',
  "D'Artagnan": 'dartagnan',
  // Words.
  'Catch-22': 'catch 22',
  'Agent 007': 'agent 7',
  '٢٠٢٤': '2024',
  'Don’t Look': 'dont look',
  'C++ Primer': 'c++ primer',
  'Ærø, Łódź': 'aero lodz',
  'カフカ ｶﾌｶ': 'かふか かふか',
  がか: 'がか',
  '한국어 학교': '한국어 학교',
  第２巻: '第2巻',
  // Without words.
  '': '',
  '???': '',
  '\t\u0001\u0002': '',
  'x\u0001\u0000y': 'x y',
}

describe('the key by which a title is sorted', () => {
  for (const [title, expected] of Object.entries(TITLES))
    it(`of ${JSON.stringify(title)} is ${JSON.stringify(expected)}, then the title itself`, () => {
      assert.equal(words('title', title), expected)
      assert.equal(textOfKey(String(sortKey('title', title))), title)
      assert.deepEqual(referenceKey('title', title), [expected, title])
    })

  it('has no article of any language at its beginning', () => {
    for (const article of ARTICLES) assert.equal(words('title', `${article} Kafka`), 'kafka')
    for (const other of ['i', 'o', 'um', 'lej', 'en'])
      assert.equal(words('title', `${other} b`), `${other} b`)
  })

  it('is what the plainest form of the rules makes, whatever the text', () => {
    const nasty = [
      ...'㌖ﷺⅧ㍿ᾷİŉßẞæŁςがカｶ한구ﾞ𠀀😀aAthelLunUN9é -–\u2019‘\'"&=+#/.,\u0001\t\u00A0\u00AD\u02BC\u0301\u0327\u05B0\u3099\u0903',
      ...['The ', 'the', 'a ', 'A', 'Die ', 'L’', "un'", 'La\u0301 ', '\u0301'.repeat(70)],
      ...['0', '9', '10', '007', '8'.repeat(9)],
      ...ARTICLES.map((article) => `${article} `),
    ]
    const text = fc.oneof(
      fc.array(fc.constantFrom(...nasty), { maxLength: 12 }).map((parts) => parts.join('')),
      anyText(300),
    )
    fc.assert(
      fc.property(text, fc.constantFrom('title', 'author'), (each, name) => {
        const [expected, compared] = referenceKey(name, each)
        assert.deepEqual([words(name, each), textOfKey(String(sortKey(name, each)))], [expected, compared])
      }),
      { numRuns: 1500 },
    )
  })

  it('counts the first 250 code points of a title, and at most 249 of its words', () => {
    for (const character of ['x', '😀', '文', 'ﷺ']) {
      const long = character.repeat(600)
      const key = String(sortKey('title', long))
      assert.deepEqual([words('title', long), textOfKey(key)], referenceKey('title', long))
      assert.equal(textOfKey(key), character.repeat(250))
      assert.ok([...key].length <= 500)
      assert.ok(key.isWellFormed())
      assert.equal(sortKey('title', textOfKey(key)), key)
    }
  })

  it('takes time that does not depend on how long the text is, whatever it is made of', () => {
    for (const text of ['\u0301', '\u0301\u0316', "'", ' ', 'The ', "L'", '𝒜', 'a+', '-'])
      sortKey('title', text.repeat(300_000))
  })
})

describe('a key', () => {
  it('of a number is the number', () => {
    assert.equal(sortKey('year', -1), -1)
    assert.equal(sortKey('id', 1), 1)
  })

  it('tells its text, also without words', () => {
    for (const text of ['', 'x', 'a\u0001b', '\u0001']) {
      assert.equal(textOfKey(String(sortKey('author', text))), text)
      assert.equal(textOfKey(plainKey(text)), text)
    }
  })
})
