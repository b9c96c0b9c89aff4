import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { encodingNamed } from '../../src/files/decode-text.ts'
import { anyText } from '../support/any-text.ts'
import { assertRead, assertRefused } from './read.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }
const OTHER =
  'the file seems to be in another encoding, such as Windows-1252 or ISO 8859-1; save it as UTF-8, or name its encoding'
const latin1 = (text: string) => Buffer.from(text, 'latin1')
/** The bytes of a text in UTF-8, each as one character. */
const utf8 = (text: string) => Buffer.from(text).toString('latin1')

for (const [what, start, reason] of [
  ['.xlsx', 'PK\x03\x04\x14\0', /^the file is a spreadsheet \(\.xlsx, \.ods\) .*; save it as CSV in UTF-8$/],
  ['.xls', '\xd0\xcf\x11\xe0\xa1', /^the file is a spreadsheet of an old Excel .*; save it as CSV in UTF-8$/],
  ['gzip', '\x1f\x8b\x08', /^the file is compressed with gzip; unpack it first$/],
] as const)
  it(`a file that is no text is named: ${what}`, async () => {
    for (const options of [{}, { encoding: 'windows-1252' }])
      await assertRefused(latin1(start), reason, options)
  })

describe('a file in an encoding that is named', () => {
  for (const [encoding, bytes, title] of [
    ['windows-1252', '\xdcber \x80uro', 'Über €uro'],
    ['shift_jis', '\x83^\x83C\x83g\x83\x8b', 'タイトル'],
  ] as const)
    it(`is read: ${encoding}`, async () => {
      const csv = latin1(`title,x,author,year\n${bytes},,A,1\n`)
      const report = await assertRead(csv, [{ ...BOOK, title }], { encoding })
      assert.equal(report.encoding, encoding)
      const line = latin1(`{"title":"${bytes}","author":"A","year":1}`)
      await assertRead(line, [{ ...BOOK, title }], { encoding, format: 'ndjson' })
    })

  it('may have bytes that are no character in columns that are not used, or half of one at its end', async () => {
    const encoding = 'shift_jis'
    await assertRead(latin1('title,x,author,year\nT,\x83,A,1\n'), [BOOK], { encoding })
    const reason = 'is not in the encoding that was named; name the right one, or correct this text'
    const half = latin1('title,author,year\nT,A,1\nU,A,1\x83')
    await assertRefused(half, `1 of 2 rows cannot be stored; line 3: year: "1�" ${reason}`, { encoding })
  })

  it('is in that of its byte order mark, if it has one', async () => {
    const utf16 = Buffer.from('\ufefftitle,author,year\nÜ,A,1\n', 'utf16le')
    for (const [encoding, file] of [
      ['utf-8', Buffer.from(utf16.toString('utf16le'))],
      ['utf-16le', utf16],
      ['utf-16be', Buffer.from(utf16).swap16()],
    ] as const) {
      const report = await assertRead(file, [{ ...BOOK, title: 'Ü' }], { encoding: 'windows-1252' })
      assert.equal(report.encoding, encoding)
    }
  })

  it('is in the UTF-16 that its first character tells, if that is ASCII, and in the one that is named otherwise', async () => {
    for (const encoding of ['utf-16le', 'utf-16be'])
      for (const [title, order] of [
        ['書名', encoding],
        ['title', 'utf-16le'],
        ['title', 'utf-16be'],
      ] as const) {
        const units = Buffer.from(`${title},author,year\nÜ,A,1\n`, 'utf16le')
        const file = order === 'utf-16be' ? units.swap16() : units
        const report = await assertRead(file, [{ ...BOOK, title: 'Ü' }], { encoding })
        assert.equal(report.encoding, order)
      }
  })

  it('is refused if it makes the decoder of its encoding fail', async () => {
    const file = latin1(`${'title,author,year\n'.padEnd(98, 'x')}\x810\n`)
    await assertRefused(file, /is not in the encoding that was named/, { encoding: 'gbk', length: 100 })
  })

  it('has the names that browsers know; those of UTF-8 and ASCII name none', () => {
    for (const [label, encoding] of [
      ['Latin1', 'windows-1252'],
      [' cp1252 ', 'windows-1252'],
      ['sjis', 'shift_jis'],
      ['UTF-16', 'utf-16le'],
      ['utf-16be', 'utf-16be'],
      ...['UTF8', 'utf-8', 'US-ASCII', ' ascii'].map((label) => [label, undefined]),
    ])
      assert.equal(encodingNamed(label ?? ''), encoding)
    for (const label of ['', 'ebcdic', 'utf-32']) assert.throws(() => encodingNamed(label), RangeError)
  })
})

describe('bytes that are no character', () => {
  for (const stray of ['\xff', '\xe2\x80', '\xed\xa0\x80', '\x80\x80\x80\x80\x80'])
    it(`do no harm in columns that are not used: ${Buffer.from(stray, 'latin1').toString('hex')}`, async () => {
      const title = 'Ü“📚'
      const rows = [`${stray}\t${utf8(title)}\tA\t\t1`, `\t${utf8(title)}\tA\t${stray}\t1`]
      const file = latin1(`Review${stray}\tTitle\tPrimary Author\tTags\tDate\n${rows.join('\n')}`)
      await assertRead(file, Array(2).fill({ ...BOOK, title }))
      const line = latin1(`{"x":"${stray}","title":"T","author":"A","year":1,"${stray}":1}\n`)
      await assertRead(line, [BOOK], { format: 'ndjson' })
    })

  it('spoil no character that is cut where the part begins that has the first of them', async () => {
    for (let i = 0; i < 7; i++) {
      const title = `${'x'.repeat(i)}📚`
      await assertRead(latin1(`year,author,title,notes\n1,A,${utf8(title)},\xff\n`), [{ ...BOOK, title }])
    }
  })

  it('are refused in the others, and only they are', async () => {
    const piece = fc.oneof(
      anyText().map(utf8),
      fc.string({ unit: fc.nat(255).map((n) => String.fromCharCode(n)) }),
    )
    const cell = fc.array(piece).map((pieces) => latin1(pieces.join('').replaceAll(/["\0]/g, '')))
    const property = fc.asyncProperty(cell, fc.integer({ min: 1, max: 9 }), async (title, length) => {
      const file = Buffer.concat([latin1('title,author,year\n"'), title, latin1('",A,1\n')])
      if (isUtf8(title)) await assertRead(file, [{ ...BOOK, title: title.toString() }], { length })
      else await assertRefused(file, /^1 of 1 rows .*; line 2: title: ".*" is not in UTF-8; /, { length })
    })
    await fc.assert(property, { numRuns: 200 })
  })

  for (const [text, fault, advice] of [
    ['title,author,year\nT,A,1\nCien a\xf1os,A,1', 'line 3: title: "Cien a�os"', OTHER],
    ['title,author,year\nT,\xc3\xad \xe1,1', 'line 2: author: "í �"', 'correct this text'],
    ['title,authors,pubdate\nT,A,0101-01-01\xa0', 'line 2: year: "0101-01-01�"', OTHER],
    [`title,author,year\n${'x'.repeat(21)}\xc3,A,1`, `line 2: title: "…${'x'.repeat(20)}�"`, OTHER],
    [`title,author,year\n${'x'.repeat(20)}\xc3,A,1`, `line 2: title: "${'x'.repeat(20)}�"`, OTHER],
    ['{"title":"\\ud83d\xff","author":"A","year":1}', 'line 1: title: "��"', 'correct this text'],
    ['{\xff}', 'line 1: "{�}"', OTHER],
  ] as const)
    it(`are in the message: ${fault}`, async () => {
      const format = text.includes('{') ? 'ndjson' : 'csv'
      const reason = RegExp.escape(`${fault} is not in UTF-8; ${advice}`)
      await assertRefused(latin1(text), new RegExp(`^1 of . rows cannot be stored; ${reason}$`), { format })
    })

  it('are explained if the file lacks a column', async () => {
    const file = latin1('T\xedtulo;Autor;A\xf1o\r\nDune;H;1965\r\n')
    const columns = `the file has the columns "T�tulo", "Autor", "A�o" (${OTHER})`
    const missing = `${columns}, and none that is known to be the title or the year; `
    await assertRefused(file, new RegExp(`^${RegExp.escape(missing)}`))
    const named = `there is no column "Título"; ${columns}`
    await assertRefused(file, named, { columns: { title: 'Título' } })
    await assertRead(file, [{ title: 'Dune', author: 'H', year: 1965 }], { encoding: 'windows-1252' })
  })

  it('are not what a file in UTF-8 has instead of them already, until there are others', async () => {
    const row = `${utf8('Garc\ufffda')},A,1\n`
    await assertRead(latin1(`title,author,year,x\n${row}`), [{ ...BOOK, title: 'Garc\ufffda' }])
    const bad = latin1(`title,author,year,x\nT,A,1,\xff\n${row}`)
    await assertRefused(bad, /line 3: title: "Garc�a" is not in UTF-8/)
  })

  for (const order of ['LE', 'BE'])
    for (const mark of ['', '\ufeff'])
      it(`are few in UTF-16${order} ${mark ? 'with' : 'without'} a mark: half a character, or half a unit`, async () => {
        const encode = (text: string) => {
          const units = Buffer.from(mark + text, 'utf16le')
          return order === 'BE' ? units.swap16() : units
        }
        const book = { ...BOOK, title: '📚', author: 'Ü' }
        await assertRead(encode('title,author,year,x\n📚,Ü,1,\ud83d\n'), [book])
        const half = encode('title,author,year\n\ud83d,A,1')
        await assertRefused(half, /line 2: title: "�" is not in UTF-16; /)
        const odd = Buffer.concat([encode('title,year,author\nT,1,A'), latin1('B')])
        await assertRefused(odd, /line 2: author: "A�" is not in UTF-16; /)
      })
})
