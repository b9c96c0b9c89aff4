import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { guarded } from '../../src/files/formulas.ts'
import { csvOf, firstRows } from '../../web/csv.js'

const read = (content: string | Uint8Array<ArrayBuffer>, encoding = 'utf-8') =>
  firstRows(new File([content], 'list.csv'), encoding)

const utf16 = (text: string, isBigEndian: boolean) => {
  const bytes = Buffer.from(text, 'utf16le')
  return new Uint8Array(isBigEndian ? bytes.swap16() : bytes)
}

describe('the first rows of a CSV file on the web page', () => {
  for (const [what, text, rows] of [
    [
      'commas',
      'a,b\n1,2\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'semicolons',
      'a;b,c;d\n1;2,3;4',
      [
        ['a', 'b,c', 'd'],
        ['1', '2,3', '4'],
      ],
    ],
    [
      'tabs',
      'a\tb\n1\t2\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'commas, with others in quotation marks',
      '"x;y;z",b\n1,2\n',
      [
        ['x;y;z', 'b'],
        ['1', '2'],
      ],
    ],
    ['a delimiter that it names', 'sep=|\r\na|b,c,d\r\n', [['a', 'b,c,d']]],
    ['one that it names in quotation marks', '"sep=;"\na;b,c,d\n', [['a', 'b,c,d']]],
    [
      'line ends of all kinds',
      'a,b\r\n1,2\r3,4\n5,6',
      [
        ['a', 'b'],
        ['1', '2'],
        ['3', '4'],
        ['5', '6'],
      ],
    ],
    [
      'empty rows',
      '\n\n;\na;b,,c\n\n1;2\n; \n',
      [
        ['a', 'b,,c'],
        ['1', '2'],
      ],
    ],
    ['quotation marks', '"a ""b""","c\r\nd" ,e\n', [['a "b"', 'c\r\nd', 'e']]],
    ['a quotation mark that is not closed', 'a,"b\nc,d', [['a', 'b\nc,d']]],
    [
      'a quotation mark in the wrong place',
      `a,b\n1,"2"x\n3,4\n`,
      [
        ['a', 'b'],
        ['1', `"2"x`],
        ['3', '4'],
      ],
    ],
    ['nothing', '', []],
  ] as const)
    it(`are read with ${what}`, async () => assert.deepEqual(await read(text), rows))

  it('are six with the names', async () => {
    const rows = Array.from({ length: 8 }, (_, i) => [String(i)])
    assert.deepEqual(await read(rows.join('\n')), rows.slice(0, 6))
    assert.deepEqual(await read(rows.slice(0, 6).join('\n')), rows.slice(0, 6))
  })

  it('do not have a row that is cut where the page ends to read, unless it is the only one', async () => {
    const START = 64 * 1024
    for (const [length, count] of [
      [START - 'a,b\n1,'.length, 2],
      [START - 'a,b\n1,'.length + 1, 1],
    ] as const)
      assert.equal((await read(`a,b\n1,${'x'.repeat(length)}`)).length, count)
    const [[only = ''] = []] = await read('é'.repeat(START))
    assert.equal(only, 'é'.repeat(START / 2))
    const [[odd = ''] = []] = await read(`x${'é'.repeat(START)}`)
    assert.equal(odd, `x${'é'.repeat(START / 2 - 1)}`, 'half a character is left out')
  })

  it('are in the encoding that the file tells, or else in the one that is named', async () => {
    const [text, rows] = ['Größe,é\n', [['Größe', 'é']]]
    const latin1 = new Uint8Array(Buffer.from(text, 'latin1'))
    assert.deepEqual(await read(latin1, 'windows-1252'), rows)
    // Each has some of the bytes of a mark.
    for (const name of ['ÿa', 'aþ', 'þa', 'aÿ', 'ï»a', 'ïa¿', 'a»¿'])
      assert.deepEqual(await read(new Uint8Array(Buffer.from(name, 'latin1')), 'windows-1252'), [[name]])
    assert.deepEqual(await read(`\ufeff${text}`, 'windows-1252'), rows)
    for (const isBigEndian of [false, true])
      for (const mark of ['\ufeff', ''])
        assert.deepEqual(await read(utf16(mark + text, isBigEndian), 'windows-1252'), rows)
  })
})

describe('a CSV file that the web page makes', () => {
  it('is read back as it was, and guards formulas as the service does', async () => {
    const cell = fc.string({ unit: fc.constantFrom(...`a=+-@＝';,"\n\r\t é`) })
    const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { maxLength: 5 })
    const property = fc.asyncProperty(table, async (rows) => {
      const file = csvOf([['Title', 'Author'], ...rows])
      assert.equal(file.type, 'text/csv')
      const bytes = new Uint8Array(await file.arrayBuffer())
      assert.deepEqual(await read(bytes, 'windows-1252'), [
        ['Title', 'Author'],
        ...rows
          .map((cells) => cells.map(guarded))
          .filter((cells) => cells.some((cell) => cell.trim() !== '')),
      ])
    })
    await fc.assert(property, { numRuns: 500 })
  })
})
