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

/** A database whose table has the columns that the function names. */
const editorOf = (
  names: () => readonly string[],
  execute: (sql: string) => Promise<unknown>,
): SchemaEditor<undefined> => ({
  columns: async () =>
    [...COLUMNS, ISBN]
      .filter(({ name }) => names().includes(name))
      .map(({ name, accepted: [type = ''] }) => ({ name, type, generated: name === 'id', required: true })),
  objects: async () => [],
  execute: (_, sql) => execute(sql),
  meaningOf: (error) => ({ outcome: 'refused', isLostRace: error === LOST, isDenied: error === DENIED }),
  administration: async () => ({ database: 'd', create: 'GRANT', use: 'GRANT', around: ['USE d;', ''] }),
})

const ALL = COLUMNS.map(({ name }) => name)

it('the table that another instance makes is looked for again by a process that stood still meanwhile', async (t) => {
  for (const isThere of [true, false]) {
    t.mock.timers.enable({ apis: ['Date'], now: 0 })
    let attempts = 0
    const editor = editorOf(
      () => (isThere && attempts > 0 ? ALL : []),
      async () => {
        attempts++
        // Longer than all attempts may take.
        t.mock.timers.setTime(Date.now() + 10_000)
        throw LOST
      },
    )
    const ensured = ensureTable(undefined, editor, COLUMNS)
    if (isThere) await ensured
    else await assert.rejects(ensured, LOST)
    assert.ok(!isThere || attempts === 1)
    t.mock.timers.reset()
  }
})

describe('the table of books of an earlier version', () => {
  it('gets a column that may be NULL, also while another instance adds it', async () => {
    for (const outcome of [undefined, LOST]) {
      const executed: string[] = []
      const names = [...ALL]
      const editor = editorOf(
        () => names,
        async (sql) => {
          executed.push(sql)
          names.push(ISBN.name)
          if (outcome !== undefined) throw outcome
        },
      )
      await ensureTable(undefined, editor, [...COLUMNS, ISBN])
      assert.deepEqual(executed, ['ALTER TABLE books ADD COLUMN isbn text'])
    }
  })

  it('is refused with the statement for an administrator if the account may not add the column', async () => {
    const editor = editorOf(
      () => ALL,
      async () => {
        throw DENIED
      },
    )
    await assert.rejects(ensureTable(undefined, editor, [...COLUMNS, ISBN]), {
      message:
        'denied. An administrator can run this in the database d, and start the service again: ' +
        'USE d; ALTER TABLE books ADD COLUMN isbn text;',
    })
  })

  it('is refused, and stays as it is, if it lacks a column that every book needs', async () => {
    const editor = editorOf(
      () => ALL.filter((name) => name !== 'year'),
      async (sql) => assert.fail(sql),
    )
    await assert.rejects(
      ensureTable(undefined, editor, COLUMNS),
      /it has no column year, which has to be bigint/,
    )
  })
})
