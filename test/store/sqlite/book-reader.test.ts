import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { BY_ID } from '../../../src/catalogue/query.ts'
import { LIST_BOUNDS, sharedReads } from '../../../src/store/sqlite/book-reader.ts'
import { makeDurable, openConnection } from '../../../src/store/sqlite/connection.ts'
import { openSqlite, prepareSqlite } from '../../../src/store/sqlite/store.ts'
import { ResponseCount } from '../../../src/store/sqlite/threads.ts'
import { inGroups } from '../pages.ts'
import { newFile } from './file.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

it('a snapshot of a database shows the same until a response of any thread is counted, or the turn ends', async () => {
  using file = newFile()
  using writing = openConnection(file.path)
  makeDurable(writing)
  writing.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)')
  using reading = openConnection(file.path)
  const responses = new ResponseCount()
  const beginReads = sharedReads(reading, responses)
  const read = () => {
    beginReads()
    return reading.prepare('SELECT x FROM t').get()?.x
  }
  assert.equal(read(), 1)
  writing.exec('UPDATE t SET x = 2')
  assert.equal(read(), 1)
  new ResponseCount(responses.memory).add()
  assert.equal(read(), 2)
  writing.exec('UPDATE t SET x = 3')
  assert.equal(read(), 2)
  // As an error may do.
  reading.exec('ROLLBACK')
  responses.add()
  assert.equal(read(), 3)
  assert.ok(reading.isTransaction)
  await setImmediate()
  assert.ok(!reading.isTransaction)
})

it('the snapshots of all threads begin anew after every response of a store', async () => {
  using file = newFile()
  const { connect, close: end } = prepareSqlite(file.path, () => {})
  const responses = new ResponseCount()
  const store = openSqlite({ path: file.path, connect, responses, threads: 2, end })
  const byYear = { filter: {}, order: [{ name: 'year', descending: false }, ...BY_ID] } as const
  for (const [name, request] of Object.entries({
    create: () => store.create(BOOK),
    update: () => store.update(1, { year: 2 }),
    page: () => store.page(byYear, undefined, LIST_BOUNDS),
    count: () => store.count({}),
    statistics: () => store.statistics({}),
    import: () => store.import(inGroups([BOOK])),
    delete: () => store.delete(1),
    'update of no book': () => store.update(1, { year: 2 }),
  })) {
    const before = responses.get()
    await request()
    assert.ok(responses.get() > before, name)
  }
  await store.close()
})
