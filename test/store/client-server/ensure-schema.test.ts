import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  bookColumnsOf,
  checkRights,
  ensureObjects,
  ensureTable,
  type SchemaEditor,
} from '../../../src/store/client-server/ensure-schema.ts'
import { ConnectionPool } from '../../../src/store/client-server/pool.ts'
import { DEADLINE, FakeDriver, MAX_AGE, settle, watch } from './fake-driver.ts'

const LOST = new Error('another instance makes the table')
const DENIED = new Error('denied')
const NOT_READY = new Error('it stops')

const COLUMNS = bookColumnsOf({
  id: { sql: 'bigint', accepted: ['bigint'] },
  text: { sql: 'text', accepted: ['text'] },
  integer: { sql: 'bigint', accepted: ['bigint'] },
})

/** A column of a later version. */
const ISBN = { name: 'isbn', sql: 'text', accepted: ['text'], isNullable: true }

const ADMINISTRATION = { database: 'd', create: 'GRANT', use: 'GRANT', around: ['USE d;', ''] } as const

/** A database whose table has the columns of these names. */
const editorOf = (
  names: readonly string[],
  execute: (sql: string) => Promise<unknown>,
): SchemaEditor<unknown> => ({
  columns: async () =>
    [...COLUMNS, ISBN]
      .filter(({ name }) => names.includes(name))
      .map(({ name, accepted: [type = ''] }) => ({ name, type, generated: name === 'id', required: true })),
  objects: async () => [],
  execute: (_, sql) => execute(sql),
  meaningOf: (error) => ({
    outcome: 'refused',
    isLostRace: error === LOST,
    isNotReady: error === NOT_READY,
    ...(error === DENIED && { isDenied: true, reason: 'read_only' }),
  }),
  administration: async () => ADMINISTRATION,
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

const group = (name: string) => ({ without: `no ${name}`, objects: [{ name, sql: `ADD ${name}` }] })

const newPool = () => new ConnectionPool(new FakeDriver(), { size: 1, timeout: DEADLINE, maxAge: MAX_AGE })

it('an index may take long, of which the operator is told, and the start does not do without if the server stops', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const adding = Promise.withResolvers<void>()
  const reports: string[] = []
  const editor = editorOf(ALL, () => adding.promise)
  const ensuring = watch(ensureObjects(newPool(), editor, [group('first')], (text) => reports.push(text)))
  await settle()
  t.mock.timers.tick(3_000_000)
  await settle()
  assert.equal(ensuring.state, 'pending')
  assert.match(reports.join(), /^adding indexes to the table books, during which writes may have to wait$/)
  adding.reject(NOT_READY)
  await settle()
  assert.equal(ensuring.error, NOT_READY)
})

it('a missing index is left to an administrator if the account may not add it, and not if the server refuses it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const editor = editorOf(ALL, (sql) => Promise.reject(sql === 'ADD first' ? DENIED : new Error('too long')))
  const pool = newPool()
  const reports: string[] = []
  for (const names of [['first', 'second'], ['second']])
    assert.deepEqual(
      await ensureObjects(pool, editor, names.map(group), (text) => reports.push(text)),
      names.map(() => false),
    )
  t.mock.timers.tick(10_000)
  assert.deepEqual(reports, [
    'no first (denied); no second (too long). An administrator can run this in the database d, and start the service again: USE d; ADD first;',
    'no second (too long)',
  ])
})

it('an account that may not read is refused, even if it may write', () => {
  for (const lacked of [['SELECT'], ['SELECT', 'INSERT', 'UPDATE', 'DELETE']] as const)
    assert.throws(() => checkRights(lacked, ADMINISTRATION, assert.fail, false), {
      message: `the account has no right to ${lacked.join(', ')} on the table books. An administrator can run this in the database d, and start the service again: GRANT`,
    })
})
