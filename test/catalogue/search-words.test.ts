import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { searchedWords, wordsOf, wordsOfBook } from '../../src/catalogue/search-words.js'
import { hasWholeWords, hasWords } from '../store/query-model.ts'

/** What Unicode makes many characters of, or orders, joins, leaves out or writes without spaces. */
const NASTY = [
  ...'㌖㌫ﷺﷻﬃⅧ㍿㋿ᾷΐİŉßẞæŁς',
  ...'百年孤独がかガｶสวัสดีກາဗမာខ្មែរ한국어𠀀𠀁𐐀😀',
  ...'aA9é -\u2019\u00AD\u200D\u0640\u02BC\u02D0\uD800',
  ...'학각갃과ㄱㅏㄳ\u1100\u1161\u1160\u11A8\u11AA\u116A\u302E\uA960\uD7B0',
  ...'スーヷゝヾ〇々ٱאבהוספרךםκόσяёकोर्সაბ٣०๒+#♯\uE000\uE001\uE002',
  ...['ال', 'وال', 'وה', '\u{116DA}', '\u{16D67}'],
  ...'\u0301\u0316\u0327\u0334\u0344\u0345\u034F\u05B0\u0651\u3099\u309A\uFF9E\uFF9F',
  ...'\u0E38\u0E48\u0E3A\u0EB8\u0EC8\u0F71\u0F72\u0F73\u0F74\u0F81\u094D\u093C\u302A\u1DCE\u0903\u20D0\u{1D165}',
]

/**
 * Characters of a text so long that what is linear takes a fraction of a second, and what is quadratic exceeds the time
 * of a file of tests.
 */
const LONG = 400_000

/** Korean words, divided into their letters. */
const letters = (...words: string[]) => words.map((word) => word.normalize('NFD'))

describe('the words of a text', () => {
  const WORDS: Record<string, string[]> = {
    'the THE The': ['the'],
    'García Márquez': ['garcia', 'marquez'],
    'Straße STRASSE STRAẞE': ['strasse'],
    'ŁÓDŹ Ægir søren đorđe œuvre þór': ['lodz', 'aegir', 'soren', 'dorde', 'oeuvre', 'thor'],
    'ΟΔΥΣΣΕΥΣ Ὀδυσσεύς': ['οδυσσευσ'],
    'İstanbul ırmak': ['istanbul', 'irmak'],
    "O'Brien": ['obrien', 'o', 'brien'],
    'Hawaiʻi co\u00adoperate می\u200cخواهم': ['hawaii', 'cooperate', 'ميخواهم'],
    'Catch-22': ['catch22', 'catch', '22'],
    'ﬁne ２３ Ⅷ': ['fine', '23', 'viii'],
    百年孤独: ['百年孤独', '年孤独', '孤独', '独'],
    'がか ガ': ['がか', 'か', 'が'],
    'コーヒー ヷ': ['こーひー', 'ーひー', 'ひー', 'ー', 'わ\u3099'],
    入門のPython2と: ['入門のpython2と', '門のpython2と', 'のpython2と', 'python2と', 'と'],
    '第3巻 vol3巻': ['第3巻', '3巻', '巻', 'vol3巻'],
    'r2d2 б4': ['r2d2', 'б4'],
    'ITкомпания Pythonकोर्स': ['itкомпания', 'компания', 'pythonकोर्स', 'कोर्स'],
    'אָלֶף بِسْمِ كتـــاب': ['אלפ', 'بسم', 'كتاب'],
    'الكتاب والسلام الله': ['الكتاب', 'كتاب', 'والسلام', 'السلام', 'سلام', 'الله'],
    'أ إ آ ا ٱ ة ه ى ي ی ک ك': ['ا', 'ه', 'ي', 'ك'],
    'הספר והספר הים': ['הספר', 'ספר', 'והספר', 'הימ'],
    'דרך לחם אבן כסף ארץ': ['דרכ', 'לחמ', 'אבנ', 'כספ', 'ארצ'],
    '٢٠٢٤ २०२४ ۲۰۲۴ ２０２４ \u{116DA}': ['2024', '0'],
    // The letter that ends a syllable is stored as if it began one, and letters that are made of others as these.
    한국어: letters('하ᄂ구ᄀ어', '구ᄀ어', '어'),
    '넋 과 있다': letters('너ᄀᄉ', '고ᅡ', '이ᄊ다', '다'),
    'C++ c# F♯ .NET': ['c\uE000\uE000', 'c', 'c\uE001', 'f\uE001', 'f', 'net'],
    '入門C＋＋': ['入門c\uE000\uE000', '門c\uE000\uE000', 'c\uE000\uE000', '入門c', '門c', 'c'],
    'я+ + #1': ['я', '1'],
    // "(ᄀ)ᅡ" for Unicode: the two letters are one when the punctuation is left out.
    '㈀ￂ': ['\u1100\u1161', 'ᄀ', 'ᅡ'],
    𐐀𐐨: ['𐐨𐐨'],
    '': [],
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

  it('have the digits of every script by their value', () => {
    const all = Array.from({ length: 0x20000 }, (_, code) => String.fromCodePoint(code))
    for (const [i, digit] of all.filter((each) => /\p{Nd}/v.test(each)).entries())
      assert.deepEqual(wordsOf(`a${digit}`), [`a${i % 10}`])
  })

  it('are those that stored indexes have: with others, WORDS_VERSION has to be raised', () => {
    const [ofBooks, ofSearches] = [createHash('sha256'), createHash('sha256')]
    let state = 1
    /** Pseudorandom, always the same. */
    const below = (limit: number) => {
      state = (state * 48_271) % 0x7fff_ffff
      return state % limit
    }
    const marks = NASTY.slice(NASTY.indexOf('\u0301'))
    const some = (length: number, from = NASTY) =>
      Array.from({ length }, () => from[below(from.length)]).join('')
    for (let i = 0; i < 2000; i++) {
      const repeated = i % 10 === 0 ? some(1 + below(8)).repeat(20 + below(400)) : ''
      const text = some(below(100)) + repeated + some(i % 10 === 5 ? below(600) : 0, marks)
      ofBooks.update(wordsOf(text).join(' '))
      ofSearches.update(searchedWords(text).join(' '))
    }
    assert.equal(ofBooks.digest('base64url').slice(0, 16), '93YiUjsXSlmsuZID')
    assert.equal(ofSearches.digest('base64url').slice(0, 16), 'kX9AsOK6-J6tvT14')
  })

  it('take time that is linear in the length of the text, whatever it is made of', () => {
    const nasty = [
      ...'㌖ ﷺ ㌖- ㌖𠀀 สวัสดี 갃 ٩𑛙 c+ + aя あ1٣'.split(' '),
      ...['\u0344\u0316\u0327', '\u0F73\u0334', 'ก\u034F\u0EC8\u0E38'],
    ]
    for (const unit of nasty) searchedWords(unit.repeat(LONG / unit.normalize('NFKD').length))
    assert.deepEqual(searchedWords('\u0344'.repeat(LONG / 2) + '\u0316'.repeat(LONG / 2)), [])
  })
})

describe('a search', () => {
  it('has each of its words once, as they stand between spaces and punctuation', () => {
    assert.deepEqual(searchedWords("O'Brien, o’brien GARCÍA 百年孤独"), ['o', 'brien', 'garcia', '百年孤独'])
    assert.deepEqual(searchedWords('…'), [])
    assert.deepEqual(searchedWords('Copy+Paste c++17'), ['copy', 'paste', 'c\uE000\uE000', '17'])
  })

  it('finds a book by what readers type of its title', () => {
    const finds = (title: string, text: string) => hasWords({ title, author: '' }, searchedWords(text))
    for (const [title, searches, others] of [
      ['Cien años de soledad', 'ANOS,sol cien,d', 'oledad,soledadx,cien x'],
      ['はじめてのPython入門', 'python,ハジメテ,python入門', 'ython'],
      ['한국어', '국어,하,한,한ㄱ,한구,한국,ㅎ,ㄱ', '한구어,안,ㅏ'],
      ['각시', '가,각,갃,각시', '가기,시각'],
      ['과자', '고,과,과ㅈ,과자', '과사'],
      ['שלום', 'שלומ,שלו,שלום', 'לום'],
      ['C++ Primer', 'c++,c+,c,C＋＋', 'c#'],
      ['Modern C++17', 'c++,c++17,c', 'c#'],
      ['C#を学ぶ', 'c#,c♯,c,c#を学ぶ', 'c++'],
      ['Copy+Paste', 'copy+paste,copy+,copy,copypaste', 'aste'],
      ['ASP.NET', '.net,net,asp.net', 'et'],
    ] as const) {
      for (const text of searches.split(',')) assert.ok(finds(title, text), `${title}: ${text}`)
      for (const text of others.split(',')) assert.ok(!finds(title, text), `${title}: ${text}`)
    }
  })

  it('tells all Korean syllables apart, also before others', () => {
    const syllables = Array.from({ length: 19 * 21 * 28 }, (_, i) => String.fromCodePoint(0xac00 + i))
    const words = syllables.flatMap((syllable) => ['', '아', '사', '이'].map((next) => `${syllable}${next}`))
    assert.equal(new Set(words.flatMap(searchedWords)).size, words.length)
  })

  it('tells whole words in title and author from beginnings', () => {
    const book = { title: 'The cat', author: 'Cat Catalogue' }
    const isWhole = (text: string) => hasWholeWords(book, searchedWords(text))
    assert.deepEqual(wordsOfBook(book), ['the', 'cat', 'catalogue'])
    assert.ok(isWhole('CAT the') && isWhole('catalogue') && !isWhole('cata') && !isWhole('the c'))
  })
})
