import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ACCOUNT, PATIENT, SECRET, spawnService, temporaryDirectory } from '../support/service.ts'

/** Starts the service on a database that it cannot use yet. */
export function beginStart(t: TestContext, DB_URL: string, port = 0) {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  const account = { USERNAME: ACCOUNT.username, PASSWORD: ACCOUNT.password, SECRET_TOKEN: SECRET }
  const settings = { HOST: '127.0.0.1', PORT: String(port), DB_URL, STORE_TIMEOUT: PATIENT, ...account }
  const started = spawnService(directory.path, settings)
  t.after(() => started.child.kill('SIGKILL'))
  return started
}

/** Checks that it ends, in vain. */
export async function endsInVain({ ended, output }: ReturnType<typeof beginStart>): Promise<void> {
  assert.deepEqual(await ended, { code: 1, signal: null }, output())
}
