import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it, mock } from 'node:test'
import { StoreUnavailable } from '../../src/catalogue/store.ts'
import { withStore } from '../../src/cli/with-store.ts'
import { OperatorError } from '../../src/errors.ts'
import { temporaryDirectory } from '../support/service.ts'

it('a failure of the store is told with the setting that names the store, unless another disk is full', async (t) => {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  mock.method(process.stderr, 'write', () => true)
  const dbUrl = { engine: 'sqlite', path: join(directory.path, 'books.db') } as const
  const settings = { dbUrl, storeTimeout: 60_000, signal: new AbortController().signal }
  for (const [reason, message] of [
    ['disk', '--to: full'],
    ['temporary_disk', 'full'],
  ] as const) {
    const failing = withStore('--to', settings, async () => {
      throw new StoreUnavailable('full', { reason })
    })
    await assert.rejects(failing, (error) => error instanceof OperatorError && error.message === message)
  }
})
