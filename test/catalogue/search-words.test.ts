import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { searchedWords, WORDS_VERSION, wordsOf } from '../../src/catalogue/search-words.js'
import { hasWords } from '../store/query-model.ts'
import { digestOfTexts } from './digest-of-texts.ts'

/** What Unicode makes many characters of, or orders, joins, leaves out or writes without spaces. */
const NASTY = [
  ...'㌖㌫ﷺﷻﬃⅧ㍿㋿ᾷΐİŉßẞæðøþđħŁœŧςןףץةىیکヶ',
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
const LONG = 1_000_000

/** Korean words, divided into their letters. */
const letters = (...words: string[]) => words.map((word) => word.normalize('NFD'))

describe('the words of a text', () => {
  const WORDS: Record<string, string[]> = {
    'García Márquez': ['garcia', 'marquez'],
    'Straße STRASSE STRAẞE': ['strasse'],
    'ŁÓDŹ Ægir søren đorđe œuvre þór': ['lodz', 'aegir', 'soren', 'dorde', 'oeuvre', 'thor'],
    'İstanbul ırmak': ['istanbul', 'irmak'],
    "O'Brien": ['obrien', 'o', 'brien'],
    'Hawaiʻi co\u00adoperate می\u200cخواهم': ['hawaii', 'cooperate', 'ميخواهم'],
    'Catch-22': ['catch22', 'catch', '22'],
    'ﬁne ２３ Ⅷ': ['fine', '23', 'viii'],
    百年孤独: ['百年孤独', '年孤独', '孤独', '独'],
    'ひらがな ヒラガナ': ['ひらがな', 'らがな', 'がな', 'な'],
    入門のPython2と: ['入門のpython2と', '門のpython2と', 'のpython2と', 'python2と', 'と'],
    '第3巻 vol3巻': ['第3巻', '3巻', '巻', 'vol3巻'],
    'ITкомпания Pythonकोर्स': ['itкомпания', 'компания', 'pythonकोर्स', 'कोर्स'],
    'אָלֶף بِسْمِ كتـــاب': ['אלפ', 'بسم', 'كتاب'],
    'الكتاب والسلام الله': ['الكتاب', 'كتاب', 'والسلام', 'السلام', 'سلام', 'الله'],
    'أ إ آ ا ٱ ة ه ى ي ی ک ك': ['ا', 'ه', 'ي', 'ك'],
    'הספר והספר הים': ['הספר', 'ספר', 'והספר', 'הימ'],
    'דרך לחם אבן כסף ארץ': ['דרכ', 'לחמ', 'אבנ', 'כספ', 'ארצ'],
    '٢٠٢٤ २०२४ ۲۰۲۴ ２０２４ \u{116DA}': ['2024', '0'],
    // The letter that ends a syllable is stored as if it began one, and letters that are made of others as these.
    한국어: letters('하ᄂ구ᄀ어', '구ᄀ어', '어'),
    'C++ c# F♯ .NET': ['c\uE000\uE000', 'c', 'c\uE001', 'f\uE001', 'f', 'net'],
    'я+ + #1': ['я', '1'],
    // "(ᄀ)ᅡ" for Unicode: the two letters are one when the punctuation is left out.
    '㈀ￂ': ['\u1100\u1161', 'ᄀ', 'ᅡ'],
    '': [],
    '😀 !? — …': [],
  }
  for (const [text, words] of Object.entries(WORDS)) {
    it(`of ${JSON.stringify(text)}`, () => assert.deepEqual(wordsOf(text), words))
  }

  it('count with their first 32 code points', () => {
    assert.deepEqual(wordsOf(`${'a'.repeat(33)} ${'a'.repeat(32)}b`), ['a'.repeat(32)])
    assert.deepEqual(wordsOf('𐐨'.repeat(33)), ['𐐨'.repeat(32)])
    assert.deepEqual(searchedWords('a'.repeat(99)), ['a'.repeat(32)])
  })

  it('are those of the first 4,000 characters', () =>
    assert.deepEqual(wordsOf(`${' '.repeat(3999)}a b`), ['a']))

  it('are at most 4,000', () => {
    // Each pair becomes three letters, and a word begins at each of them.
    const pairs = Array.from({ length: 1990 }, (_, i) => `${String.fromCodePoint(0x4e00 + i)}㍻`)
    assert.equal(wordsOf(`${pairs.join('')}-a-b`).length, 4000)
  })

  // An index that exists was made by them.
  it('are the same as ever, as long as the version of the rules is', () => {
    const digest = digestOfTexts(NASTY, (text) => [wordsOf(text), searchedWords(text)])
    assert.deepEqual([WORDS_VERSION, digest], [2, 'PkgKLo_vfikViGP7y-csI1GPBSekBqrx3_GzT1hMcIM'])
  })

  it('have the digits of all scripts as those of ASCII', () => {
    // Unicode has them in tens.
    let count = 0
    for (let code = 0; code <= 0x10ffff; code++) {
      const character = String.fromCodePoint(code)
      if (/\p{Nd}/v.test(character)) assert.deepEqual(wordsOf(character), [String(count++ % 10)], character)
    }
  })

  it('take time that is linear in the length of the text, whatever it is made of', () => {
    const nasty = [
      ...'㌖ ﷺ ㌖- ㌖𠀀 สวัสดี 갃 ٩𑛙 c+ + aя あ1٣'.split(' '),
      ...['\u0344\u0316\u0327', '\u0F73\u0334', 'ก\u034F\u0EC8\u0E38'],
    ]
    for (const unit of nasty) searchedWords(unit.repeat(LONG / unit.normalize('NFKD').length))
    assert.deepEqual(searchedWords('\u0344'.repeat(LONG / 2) + '\u0316'.repeat(LONG / 2)), [])
  })

  it('are found by their beginning, and by themselves, whatever the text', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 60 })
    fc.assert(
      fc.property(text, text, (title, author) => {
        const words = wordsOf(title)
        for (const word of words) {
          assert.match(word, /^[\p{L}\p{N}][\p{L}\p{N}\p{M}]*[\uE000\uE001]*$/v)
          assert.ok(!/[A-Z]/.test(word))
        }
        assert.ok(hasWords({ title, author }, searchedWords(title).slice(0, 20)))
        assert.deepEqual(words.flatMap(searchedWords), words, 'a word is no word any more')
      }),
      { numRuns: 1000 },
    )
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

  it('keeps finding a book while its title is typed', () => {
    const text = fc.array(fc.constantFrom(...'한국어각하기과넋c+#aпяבהاللكわーヒ巻3٣ -.'), { maxLength: 12 })
    fc.assert(
      fc.property(text, (letters) => {
        const title = letters.join('')
        for (let typed = 0; typed <= letters.length; typed++) {
          const searched = searchedWords(letters.slice(0, typed).join(''))
          assert.ok(hasWords({ title, author: '' }, searched), `${title}: ${searched}`)
        }
      }),
      { numRuns: 1000 },
    )
  })
})
