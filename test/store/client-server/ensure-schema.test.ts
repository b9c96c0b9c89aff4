import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  bookColumnsOf,
  ensureTable,
  type SchemaEditor,
} from '../../../src/store/client-server/ensure-schema.ts'

const LOST = new Error('another instance makes the table')
const DENIED = new Error('denied')

const COLUMNS = bookColumnsOf({
  id: { sql: 'bigint', accepted: ['bigint'] },
  text: { sql: 'text', accepted: ['text'] },
  integer: { sql: 'bigint', accepted: ['bigint'] },
})

/** A column of a later version. */
const ISBN = { name: 'isbn', sql: 'text', accepted: ['text'], isNullable: true }

/** A database whose table has the columns of these names. */
const editorOf = (
  names: readonly string[],
  execute: (sql: string) => Promise<unknown>,
): SchemaEditor<undefined> => ({
  columns: async () =>
    [...COLUMNS, ISBN]
      .filter(({ name }) => names.includes(name))
      .map(({ name, accepted: [type = ''] }) => ({ name, type, generated: name === 'id', required: true })),
  objects: async () => [],
  execute: (_, sql) => execute(sql),
  meaningOf: (error) => ({ outcome: 'refused', isLostRace: error === LOST, isDenied: error === DENIED }),
  administration: async () => ({ database: 'd', create: 'GRANT', use: 'GRANT', around: ['USE d;', ''] }),
})

const ALL = COLUMNS.map(({ name }) => name)

// What becomes of a table that lacks another column: adopted-tables.test.ts.
describe('the table of books', () => {
  // That another instance makes the table: test/faults/server-start.long.ts.
  it('that another instance gives a column is looked for again, however long that took', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 0 })
    const existing = [...ALL]
    const executed: string[] = []
    const editor = editorOf(existing, async (sql) => {
      executed.push(sql)
      existing.push(ISBN.name)
      // Longer than all attempts may take.
      t.mock.timers.setTime(10_000)
      throw LOST
    })
    await ensureTable(undefined, editor, [...COLUMNS, ISBN])
    assert.deepEqual(executed, ['ALTER TABLE books ADD COLUMN isbn text'])
  })

  it('is refused with the statement for an administrator if the account may not add a column, and for no other reason', async () => {
    const add = (error: Error) =>
      ensureTable(
        undefined,
        editorOf(ALL, () => Promise.reject(error)),
        [...COLUMNS, ISBN],
      )
    const other = new Error('no room')
    await assert.rejects(add(other), other)
    await assert.rejects(add(DENIED), {
      message:
        'denied. An administrator can run this in the database d, and start the service again: ' +
        'USE d; ALTER TABLE books ADD COLUMN isbn text;',
    })
  })
})
