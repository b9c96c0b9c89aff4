import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ACCOUNT, SECRET, spawnService, temporaryDirectory } from '../support/service.ts'

/** Starts the service on a database that it cannot use yet. */
export function beginStart(t: TestContext, DB_URL: string, port = 0) {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  const account = { USERNAME: ACCOUNT.username, PASSWORD: ACCOUNT.password, SECRET_TOKEN: SECRET }
  const started = spawnService(directory.path, { HOST: '127.0.0.1', PORT: String(port), DB_URL, ...account })
  t.after(() => started.child.kill('SIGKILL'))
  return started
}

/** Checks that it ends, in vain. @returns after how many milliseconds. */
export async function timeToEnd({ ended, output }: ReturnType<typeof beginStart>): Promise<number> {
  const start = Date.now()
  assert.deepEqual(await ended, { code: 1, signal: null }, output())
  return Date.now() - start
}
