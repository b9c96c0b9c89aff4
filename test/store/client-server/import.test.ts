import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { type ImportTransaction, importIntoServer } from '../../../src/store/client-server/import.ts'
import { forever, newPool, pass, settle, useDriver, watch } from './fake-driver.ts'

useDriver()

const STEPS = ['begin', 'number', 'insert', 'commit', 'rollback']

/** Imports two groups of books into a server that does everything at once, except what is replaced. */
function importBooks(replaced: Partial<ImportTransaction>, signal?: AbortSignal) {
  const steps = { ...Object.fromEntries(STEPS.map((step) => [step, async () => 0])), stored: async () => 2 }
  const transaction = { ...steps, ...replaced } as ImportTransaction
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
