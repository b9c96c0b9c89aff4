import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { CsvParser } from '../../src/files/csv-parser.ts'
import { guarded } from '../../src/files/write-books.ts'
import { csvOf } from '../../web/csv.js'

it('a CSV file that the web page makes is read as it was, and guards formulas as the service does', async () => {
  const cell = fc.string({ unit: fc.constantFrom(...`a=+-@＝';,"\n\r\t é`) })
  const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { maxLength: 5 })
  const property = fc.asyncProperty(table, async (rows) => {
    const file = csvOf([['Title', 'Author'], ...rows])
    assert.equal(file.type, 'text/csv')
    const bytes = Buffer.from(await file.arrayBuffer())
    assert.deepEqual(bytes.subarray(0, 3), Buffer.from('\ufeff'))
    const read = new CsvParser(',', () => new Set([0, 1])).push(bytes.subarray(3).toString(), true)
    assert.deepEqual(
      read.map(({ cells }) => cells),
      rows.map((cells) => cells.map(guarded)),
    )
  })
  await fc.assert(property, { numRuns: 500 })
})
