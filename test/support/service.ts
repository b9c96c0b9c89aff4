import assert from 'node:assert/strict'
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { findCommand } from './program.ts'
import { until } from './until.ts'

const MAIN = resolve(import.meta.dirname, '../../src/main.ts')

const { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS, NODE_V8_COVERAGE } = process.env

/** What the service and its commands need to find Node.js and what it has compiled before, and to write coverage. */
export const INHERITED = {
  PATH,
  ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
  ...(NODE_V8_COVERAGE && { NODE_V8_COVERAGE, NODE_OPTIONS }),
}

/** Threads of the services that do not say how many they have: `THREADS=4 npm test`. */
const { THREADS } = process.env

/**
 * `STORE_TIMEOUT` of a service whose deadline is not what is tested, in seconds. A machine that stands still for some
 * seconds would make it refuse requests, as it should.
 */
export const PATIENT = '60'

export const ACCOUNT = { username: 'admin', password: 'the password of the tests' }
export const SECRET = 'the secret of the tests, of more than 32 bytes'

/** Of every service of the tests: it listens on a free port, and has the account of the tests. */
export const SETTINGS = {
  PORT: '0',
  HOST: '127.0.0.1',
  USERNAME: ACCOUNT.username,
  PASSWORD: ACCOUNT.password,
  SECRET_TOKEN: SECRET,
}

/** Before a command on Linux: it is killed when this process dies, whatever has happened. */
const WITH_PARENT = findCommand(['setpriv'], []) ? ['setpriv', '--pdeathsig', 'KILL', '--'] : []

/** The real service, running as a process of its own. */
export type Service = Awaited<ReturnType<typeof startService>>

/** A new empty directory under another, by default the system's, and its removal. */
export function temporaryDirectory(parent = tmpdir()): { path: string; remove: () => void } {
  const path = mkdtempSync(join(parent, 'book-catalogue-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/**
 * Starts the service in the directory with exactly these settings, none but THREADS inherited, and gives up its output. The
 * process may end before it listens.
 * @param wrapper a command that becomes the one that is put behind it.
 */
export function spawnService(
  cwd: string,
  settings: Record<string, string | undefined>,
  nodeOptions: string[] = [],
  wrapper: readonly string[] = [],
) {
  const [file = '', ...args] = [...WITH_PARENT, ...wrapper, process.execPath, ...nodeOptions, MAIN]
  const child = spawn(file, args, {
    cwd,
    env: { ...INHERITED, ...(THREADS && { THREADS }), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { output, closed } = follow(child)
  const ended = closed.then(([code, signal]) => {
    // Neither the password nor the secret of the tests, nor any token.
    const found = /the (?:password|secret) of the tests|eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(output())
    assert.equal(found?.[0], undefined, 'a service has written a secret')
    return { code, signal }
  })
  return { child, output, ended }
}

/** @returns what tells all that a process has written so far; and its end, when the last process has closed its output. */
export function follow(child: ChildProcessByStdio<null, Readable, Readable>) {
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more: string) => {
      text += more
    })
  return {
    output: () => text,
    closed: once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>,
  }
}

/**
 * Starts the service on a free port and waits until it listens.
 * @param cwd where its relative paths lead; by default the database is `books.db` there.
 * @param settings beside those of the tests, or instead of them; undefined leaves one unset.
 * @param wrapper as for spawnService.
 */
export async function startService(
  cwd: string,
  settings: Record<string, string | undefined> = {},
  nodeOptions: string[] = [],
  wrapper: readonly string[] = [],
) {
  const { child, output, ended } = spawnService(
    cwd,
    { ...SETTINGS, DB_URL: 'sqlite:books.db', STORE_TIMEOUT: PATIENT, ...settings },
    nodeOptions,
    wrapper,
  )
  const url = await untilListening(child, output)
  /** Sends the signal and waits for the end. */
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return ended
  }
  return { url, process: child as ChildProcess, output, stop }
}

/**
 * Waits until a service says where it listens.
 * @param process is or starts the service.
 * @throws Error with its output if it ends before, or takes too long.
 */
export async function untilListening(process: ChildProcess, output: () => string): Promise<string> {
  const find = () => /"url":"(http:[^"]*)".*"msg":"listening"/.exec(output())?.[1]
  await until('it listens', () => find() ?? process.exitCode !== null).catch(() => {})
  const url = find()
  if (url !== undefined) return url
  process.kill('SIGKILL')
  throw new Error(`The service does not listen. It said:\n${output()}`)
}
