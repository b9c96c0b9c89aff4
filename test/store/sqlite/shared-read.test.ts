import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { SharedReadTransaction } from '../../../src/store/sqlite/book-reader.ts'
import { makeDurable, openConnection } from '../../../src/store/sqlite/connection.ts'
import { ResponseCount } from '../../../src/store/sqlite/threads.ts'
import { newFile } from './file.ts'

describe('a snapshot of a database', () => {
  let file: ReturnType<typeof newFile>
  let [reading, writing]: DatabaseSync[] = []

  beforeEach(() => {
    file = newFile()
    writing = openConnection(file.path)
    makeDurable(writing)
    writing.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)')
    reading = openConnection(file.path)
  })

  afterEach(() => {
    if (reading?.isOpen) reading.close()
    writing?.close()
    file[Symbol.dispose]()
  })

  const read = () => reading?.prepare('SELECT x FROM t').get()?.x
  const begin = () => {
    const responses = new ResponseCount()
    const snapshot = new SharedReadTransaction(reading as DatabaseSync, responses)
    snapshot.begin()
    return { snapshot, responses }
  }

  it('shows the same until a response of any thread is counted', () => {
    const { snapshot, responses } = begin()
    assert.equal(read(), 1)
    writing?.exec('UPDATE t SET x = 2')
    snapshot.begin()
    assert.equal(read(), 1)
    new ResponseCount(responses.memory).add()
    snapshot.begin()
    assert.equal(read(), 2)
    writing?.exec('UPDATE t SET x = 3')
    snapshot.begin()
    assert.equal(read(), 2)
  })

  it('ends with the turn of the event loop', async () => {
    begin()
    assert.equal(read(), 1)
    writing?.exec('UPDATE t SET x = 2')
    await setImmediate()
    assert.equal(read(), 2)
    assert.equal(reading?.isTransaction, false)
  })

  it('may have been ended by an error', async () => {
    const { snapshot, responses } = begin()
    read()
    reading?.exec('ROLLBACK')
    responses.add()
    snapshot.begin()
    assert.equal(reading?.isTransaction, true)
  })

  it('may outlive its connection', async () => {
    begin()
    read()
    reading?.close()
    await setImmediate()
  })
})
