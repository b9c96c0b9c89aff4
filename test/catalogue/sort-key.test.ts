import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { plainKey, SEPARATOR, SORT_KEY_VERSION, sortKey, textOfKey } from '../../src/catalogue/sort-key.ts'
import { digestOfTexts } from './digest-of-texts.ts'

const ARTICLES =
  'the a an der die das ein eine le la les un une el los las il lo gli uno una de het een'.split(' ')

/** The words of a key, with its numbers as they are usually written: the number of their digits is before them. */
const words = (name: 'title' | 'author', text: string) =>
  String(sortKey(name, text))
    .split(SEPARATOR)[0]
    ?.replace(/[0-9]+/g, (number) => {
      const [, short, long = ''] = /^(?:9(...)|.)(.*)$/.exec(number) ?? []
      assert.equal(long.length, Number(short ?? number[0]), number)
      return long || '0'
    })

/** Texts and what they are sorted by, without the text itself. */
const TITLES: Record<string, string> = {
  'The Hobbit': 'hobbit',
  'L’Étranger': 'etranger',
  'Un’altra vita': 'altra vita',
  '“The Genius”': 'genius',
  'The $64,000 Question': '64 0 question',
  'La La Land': 'la land',
  // No articles.
  A: 'a',
  'The The': 'the the',
  'A & B': 'a b',
  'En attendant Godot': 'en attendant godot',
  // Words.
  'Agent 007': 'agent 7',
  '٢٠٢٤': '2024',
  'Don’t Look': 'dont look',
  'C# in Depth': 'c# in depth',
  がか: 'がか',
  '한국어 학교': '한국어 학교',
  // Without words.
  '': '',
  '🐍': '',
  'x\u0001\u0000y': 'x y',
}

describe('the key by which a title is sorted', () => {
  for (const [title, expected] of Object.entries(TITLES))
    it(`of ${JSON.stringify(title)} is ${JSON.stringify(expected)}, then the title itself`, () => {
      assert.equal(words('title', title), expected)
      assert.equal(textOfKey(String(sortKey('title', title))), title)
    })

  it('has no article of any language at its beginning', () => {
    for (const article of ARTICLES) assert.equal(words('title', `${article} Kafka`), 'kafka')
    for (const other of ['i', 'o', 'um', 'lej', 'en'])
      assert.equal(words('title', `${other} b`), `${other} b`)
  })

  // Catalogues that exist have keys that were made by them.
  it('is the same as ever, as long as the version of the rules is', () => {
    const nasty = [
      ...'㌖ﷺⅧ㍿ᾷİŉßẞæŁςがカｶ한구ﾞ𠀀😀aAthelLunUN9é -–\u2019‘\'"&=+#/.,\u0001\t\u00A0\u00AD\u02BC\u0301\u0327\u05B0\u3099\u0903',
      ...['The ', 'the', 'a ', 'A', 'Die ', 'L’', "un'", 'La\u0301 ', '0', '9', '10', '007', '8'.repeat(9)],
    ]
    const digest = digestOfTexts(nasty, (text) => [sortKey('title', text), sortKey('author', text)])
    assert.deepEqual([SORT_KEY_VERSION, digest], [3, 'FR8x8jtM-QQ0SGf9UF16DHpYEKdnUuzeyh4XiEfnO4g'])
  })

  it('has nothing before the separator that is lower than a space, so that the shorter words come first', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (title) => {
        assert.match(words('title', title) ?? '', /^[^\0- ]*(?: [^\0- ]+)*$/v)
      }),
    )
  })

  it('counts the first 250 code points of a title, and at most 249 of its words', () => {
    for (const character of ['x', '😀', '文', 'ﷺ']) {
      const key = String(sortKey('title', character.repeat(600)))
      assert.equal(textOfKey(key), character.repeat(250))
      assert.ok([...key].length <= 249 + 1 + 250)
      assert.ok(key.isWellFormed())
      assert.equal(sortKey('title', textOfKey(key)), key)
    }
    assert.equal(words('title', 'x'.repeat(600)), 'x'.repeat(249))
  })

  it('takes time that does not depend on how long the text is, whatever it is made of', () => {
    for (const text of ['\u0301', '\u0301\u0316', "'", ' ', 'The ', "L'", '𝒜', 'a+', '-'])
      sortKey('title', text.repeat(300_000))
  })
})

describe('a key', () => {
  it('of an author has articles, which may be names', () => {
    assert.equal(words('author', 'Le Guin, Ursula K.'), 'le guin ursula k')
    assert.equal(words('author', 'The Beatles'), 'the beatles')
  })

  it('tells its text, also without words', () => {
    for (const text of ['', 'x', 'a\u0001b', '\u0001']) {
      assert.equal(textOfKey(String(sortKey('author', text))), text)
      assert.equal(textOfKey(plainKey(text)), text)
    }
  })
})
