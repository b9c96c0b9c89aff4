import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodingNamed } from '../../src/files/decode-text.ts'
import { readFile } from './read.ts'

const HEADER = Buffer.from('title,x,author,year\n')

describe('a file in an encoding that is named', () => {
  for (const [encoding, bytes, title] of [
    ['windows-1252', '\xdcber \x80uro', 'Über €uro'],
    ['iso-8859-2', '\xa3\xf3d\xbc', 'Łódź'],
    ['windows-1251', '\xc2\xee\xe9\xed\xe0', 'Война'],
    ['shift_jis', '\x83^\x83C\x83g\x83\x8b', 'タイトル'],
    ['gb18030', '\xca\xe9\xc3\xfb', '书名'],
  ] as const) {
    it(`is read: ${encoding}`, async () => {
      const file = Buffer.concat([HEADER, Buffer.from(`${bytes},,A,1\n`, 'latin1')])
      for (const length of [1, 2, 3, 1000]) {
        const { error, books } = await readFile(file, 'csv', length, { encoding })
        assert.deepEqual([error, books], [undefined, [{ title, author: 'A', year: 1 }]])
      }
    })
  }

  it('is read as NDJSON', async () => {
    const file = Buffer.from('{"title":"\xdc","author":"A","year":1}', 'latin1')
    const { books } = await readFile(file, 'ndjson', 1, { encoding: 'windows-1252' })
    assert.deepEqual(books, [{ title: 'Ü', author: 'A', year: 1 }])
  })

  it('may have bytes that are no character in columns that are not used, or half of one at its end', async () => {
    for (const length of [1, 2, 1000]) {
      const read = (rows: string) => {
        const file = Buffer.concat([HEADER, Buffer.from(rows, 'latin1')])
        return readFile(file, 'csv', length, { encoding: 'shift_jis' })
      }
      assert.deepEqual((await read('T,\x83,A,1\n')).books, [{ title: 'T', author: 'A', year: 1 }])
      const half = await read('T,,A,1\nU,,A,1\x83')
      assert.equal(
        half.error,
        '1 of 2 rows cannot be stored; line 3: year: "1�" is not in the encoding that was named; name the right one, or correct this text',
      )
    }
  })

  it('is in that of its byte order mark, if it has one, and is refused if it is no text', async () => {
    const utf16 = Buffer.from('\ufefftitle,author,year\nÜ,A,1\n', 'utf16le')
    for (const file of [
      Buffer.from('\ufefftitle,author,year\nÜ,A,1\n'),
      utf16,
      Buffer.from(utf16).swap16(),
    ]) {
      const { books } = await readFile(file, 'csv', 1, { encoding: 'windows-1252' })
      assert.deepEqual(books, [{ title: 'Ü', author: 'A', year: 1 }])
    }
    const { error } = await readFile('PK\x03\x04', 'csv', 1, { encoding: 'windows-1252' })
    assert.match(error ?? '', /^the file is a spreadsheet/)
  })
})

it('a file that makes the decoder of its encoding fail is refused', async () => {
  for (const [encoding, bytes] of [
    ['gbk', [0x81, 0x30]],
    ['euc-jp', [0x8f, 0xa1]],
  ] as const) {
    const start = Buffer.concat([HEADER, Buffer.alloc(100 - HEADER.length - 2, 'x'), Buffer.from(bytes)])
    const { error } = await readFile(Buffer.concat([start, Buffer.from('\n')]), 'csv', 100, { encoding })
    assert.match(error ?? '', /is not in the encoding that was named/)
  }
})

it('an encoding has the names that browsers know, and those of UTF-8 and UTF-16 name none', () => {
  for (const [label, encoding] of [
    ['Latin1', 'windows-1252'],
    [' cp1252 ', 'windows-1252'],
    ['ISO-8859-1', 'windows-1252'],
    ['sjis', 'shift_jis'],
    ['UTF8', undefined],
    ['utf-8', undefined],
    ['UTF-16', undefined],
    ['utf-16be', undefined],
    ['US-ASCII', undefined],
    ['ascii', undefined],
  ] as const) {
    assert.equal(encodingNamed(label), encoding)
  }
  for (const label of ['', 'ebcdic', 'utf-32']) assert.throws(() => encodingNamed(label), RangeError)
})
