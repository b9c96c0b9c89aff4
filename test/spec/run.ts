import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Target } from './client.ts'

const USAGE = `Tests a running implementation of the book catalogue contract. Creates books and deletes them again.

npm run test:spec -- --url URL --username NAME --password PASSWORD [options]

  --url URL            base URL, such as http://localhost:8080
  --username NAME      the account
  --password PASSWORD  its password
  --secret SECRET      SECRET_TOKEN of the service; without it, tests that sign tokens themselves are skipped
  --contract-only      leave out the decisions where the contract is silent
`

/** How long the service may take to answer at all, in milliseconds. */
const ANSWER_TIME = 30_000

/** @returns the exit code of the test run. */
async function runTests(target: Target, contractOnly: boolean): Promise<number> {
  const files = readdirSync(import.meta.dirname)
    .filter((name) => /\.(?:test|long)\.ts$/.test(name) && !(contractOnly && name.startsWith('decisions')))
    .map((name) => join(import.meta.dirname, name))
  const { NODE_TEST_CONTEXT: _ofAnOuterRun, ...environment } = process.env
  // One after the other: one that reads a deleted book must not find that another was given the same id.
  const child = spawn(process.execPath, ['--test', '--test-concurrency=1', ...files], {
    env: { ...environment, SPEC_TARGETS: JSON.stringify([target]) },
    stdio: 'inherit',
  })
  const [code] = await once(child, 'close')
  return code ?? 1
}

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    username: { type: 'string' },
    password: { type: 'string' },
    secret: { type: 'string' },
    'contract-only': { type: 'boolean', default: false },
  },
})
const { url, username, password, secret } = values
process.exitCode = 1
if (!url || !username || !password) process.stderr.write(USAGE)
else {
  const base = url.replace(/\/+$/, '')
  try {
    await fetch(`${base}/books`, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_TIME) })
    const target = { name: base, url: base, username, password, ...(secret !== undefined && { secret }) }
    process.exitCode = await runTests(target, values['contract-only'])
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } }
    process.stderr.write(`Nothing answers at ${base}: ${cause?.code ?? message}\n`)
  }
}
