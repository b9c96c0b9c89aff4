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
  --help               show this text
`

/** How long the service may take to answer at all, in milliseconds. */
const ANSWER_TIME = 30_000

/** A fault of the command line or of the service, in one line. */
class CannotRun extends Error {}

try {
  await main()
} catch (error) {
  if (!(error instanceof CannotRun)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

async function main(): Promise<void> {
  const options = readOptions()
  if (options.help) {
    process.stdout.write(USAGE)
    return
  }
  const { url, username, password, secret } = options
  if (!url || !username || !password)
    throw new CannotRun('--url, --username and --password are needed (--help lists the options)')
  const base = url.replace(/\/+$/, '')
  await checkResponses(base)
  const target = { name: base, url: base, username, password, ...(secret !== undefined && { secret }) }
  process.exitCode = await runTests(target, options['contract-only'] ?? false)
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        url: { type: 'string' },
        username: { type: 'string' },
        password: { type: 'string' },
        secret: { type: 'string' },
        'contract-only': { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values
  } catch (error) {
    throw new CannotRun(`${(error as Error).message.replaceAll('\n', ' ')} (--help lists the options)`)
  }
}

async function checkResponses(url: string): Promise<void> {
  try {
    await fetch(`${url}/books`, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_TIME) })
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } }
    throw new CannotRun(`Nothing answers at ${url}: ${cause?.code ?? message}`)
  }
}

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
