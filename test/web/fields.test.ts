import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cut, legible, oneLine, quote, readYear, searchFor, short, writeYear } from '../../web/fields.js'

describe('a year that is typed on the web page', () => {
  for (const [typed, year] of [
    ['1979', 1979],
    ['1,900', 1900],
    ['1.900', 1900],
    ['12’345’678', 12_345_678],
    ['1\u00A0900', 1900],
    [' 1950 ', 1950],
    ['+5', 5],
    ['-500', -500],
    ['- 500', -500],
    ['−500', -500],
    ['–500', -500],
    ['500 BC', -500],
    ['500bce', -500],
    ['500 AD', 500],
    ['500 CE', 500],
    ['１９９９', 1999],
    ['0', 0],
    ['-0', 0],
    ['0 BC', 0],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['-9007199254740991', Number.MIN_SAFE_INTEGER],
    ...[
      '',
      ' ',
      'abc',
      '19x',
      '1979 x',
      '1,90',
      '1,9000',
      '1234,567',
      '-500 BC',
      '+5 AD',
      '--5',
      '5-',
      '1e3',
      '1.5',
    ].map((text) => [text, undefined] as const),
    ['9007199254740992', undefined],
    ['-9007199254740992', undefined],
  ] as const)
    it(`is ${year} for “${typed}”`, () => assert.equal(readYear(typed), year))

  it('is written so that it can be typed again, and 0 as unknown', () => {
    for (const year of [1, 1979, -1, -500, 12_345]) assert.equal(readYear(writeYear(year)), year)
    assert.deepEqual([-500, 0, 1979].map(writeYear), ['500 BC', '—', '1979'])
  })
})

describe('a text that the web page shows', () => {
  it('is cut after so many characters, never within one, and only if it is longer', () => {
    for (const [text, expected] of [
      ['', ''],
      ['abcd', 'abcd'],
      ['abcde', 'abcd…'],
      ['🂡🂡🂡🂡', '🂡🂡🂡🂡'],
      ['🂡🂡🂡🂡a', '🂡🂡🂡🂡…'],
      ['a🂡🂡🂡🂡', 'a🂡🂡🂡…'],
    ] as const)
      assert.equal(cut(text, 4), expected)
    const [sentence, row] = ['x'.repeat(60), 'x'.repeat(300)]
    assert.deepEqual([short(sentence), short(`${sentence}x`)], [sentence, `${sentence}…`])
    assert.deepEqual([oneLine(row), oneLine(`${row}x`)], [row, `${row}…`])
    assert.equal(quote(row), `“${sentence}…”`)
  })

  it('is in one line, and says where others begin', () => {
    assert.equal(oneLine('a\r\nb\nc\rd\u2028e\u2029f'), 'a ↵ b ↵ c ↵ d ↵ e ↵ f')
    assert.equal(quote('a\nb'), '“a ↵ b”')
  })

  it('is named if there is nothing to see of it', () => {
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
})
