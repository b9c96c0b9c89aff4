import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { type ImportTransaction, importIntoServer } from '../../../src/store/client-server/import.ts'
import { type ServerEngine, serverStore } from '../../../src/store/client-server/store.ts'
import { activeTimers } from '../../support/active-timers.ts'
import { inGroups } from '../pages.ts'
import {
  beginAll,
  type FakeConnection,
  forever,
  newPool,
  pass,
  settle,
  useDriver,
  watch,
} from './fake-driver.ts'

useDriver()

/** An index of which nothing is ever heard. */
const INDEX = { valuesOf: () => [], stale: forever, store: async () => 0, isRefused: () => false }

const STEPS = ['begin', 'number', 'insert', 'commit', 'rollback']

/** On a server that does everything at once, except what is replaced. */
function transactionWith(replaced: Partial<ImportTransaction>): ImportTransaction {
  const steps = { ...Object.fromEntries(STEPS.map((step) => [step, async () => 0])), stored: async () => 2 }
  return { ...steps, ...replaced } as ImportTransaction
}

/** Imports two groups of books. */
function importBooks(replaced: Partial<ImportTransaction>, signal?: AbortSignal) {
  const transaction = transactionWith(replaced)
  async function* books() {
    for (const year of [1, 2]) yield [{ title: 'T', author: 'A', year }]
  }
  return importIntoServer(newPool(1), () => transaction, books(), signal ? { signal } : {})
}

describe('an import into a server', () => {
  it('does nothing more once it is given up, before it begins or at its end, although the connection still works', async () => {
    const [giveUp, reason] = [new AbortController(), new Error('gone')]
    const stored = async () => {
      giveUp.abort(reason)
      return 1
    }
    const commit = () => assert.fail('it commits')
    await assert.rejects(importBooks({ stored, commit }, giveUp.signal), reason)
    const begin = () => assert.fail('it begins')
    await assert.rejects(importBooks({ begin }, giveUp.signal), reason)
  })

  it('is given up while it waits for the sort keys of the books that it is to skip', async () => {
    const giveUp = new AbortController()
    const engine = { keyIndex: () => INDEX } as unknown as ServerEngine<FakeConnection>
    const options = { skipExisting: true, signal: giveUp.signal }
    const importing = watch(serverStore(newPool(1), engine, false).import(inGroups([]), options))
    await settle()
    giveUp.abort(new Error('gone'))
    await settle()
    assert.equal(importing.error, giveUp.signal.reason)
  })

  it('is not given up while it commits, because it would not be known whether its books are stored', async () => {
    const giveUp = new AbortController()
    const committing = Promise.withResolvers<void>()
    const commit = () => {
      giveUp.abort(new Error('gone'))
      return committing.promise
    }
    const importing = watch(importBooks({ commit }, giveUp.signal))
    await settle()
    assert.equal(importing.state, 'pending')
    committing.resolve()
    await settle()
    assert.equal(importing.state, 'fulfilled')
  })

  it('ends when the server stands still, and may have stored its books if that is the commit', async () => {
    for (const step of ['begin', 'insert', 'stored', 'commit'] as const) {
      const importing = watch(importBooks({ [step]: forever }))
      await settle()
      await pass(60_000)
      const { error } = importing
      assert.ok(error instanceof StoreUnavailable)
      assert.equal(error.nothingWritten, step !== 'commit')
    }
  })
})

it('statistics that wait for a connection after an import do not outlive their store', async () => {
  const transaction = transactionWith({ stored: async () => 1000 })
  const engine = { importOn: () => transaction, analyze: forever } as unknown as ServerEngine<FakeConnection>
  const pool = newPool(1)
  const store = serverStore(pool, engine, false)
  const importing = watch(store.import(inGroups([])))
  const [other] = await beginAll(pool, 1)
  assert.deepEqual([importing.state, store.load().requests_waiting], ['fulfilled', 1])
  const closing = watch(store.close())
  other?.reject(new Error('lost'))
  await settle()
  assert.deepEqual([closing.state, pool.load().requests_waiting], ['fulfilled', 0])
})

it('a store that is closed leaves no timer, which would keep a program from ending', async () => {
  mock.timers.reset()
  const before = activeTimers()
  const engine = { keyIndex: () => INDEX } as unknown as ServerEngine<FakeConnection>
  await serverStore(newPool(1), engine, false).close()
  assert.ok(activeTimers() <= before)
})
