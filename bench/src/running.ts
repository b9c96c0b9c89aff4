import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { ACCOUNT, HOST, SECRET } from './account.ts'
import type { Contender } from './contenders.ts'
import { freePort } from './ports.ts'
import { signToken } from './token.ts'

/** How long a contender may take to its first answer, or to its end, in milliseconds. */
const START_TIME = 60_000
const STOP_TIME = 15_000

/** How long to wait before asking again whether it answers, in milliseconds. */
const ASK_INTERVAL = 5

/** The service's own directory, and so that of the settings file that it might read, is not the contenders'. */
const DIRECTORY = resolve(import.meta.dirname, '..')

/** A contender as a process of its own. */
export interface Running {
  readonly port: number
  readonly pid: number
  /** From the start of the process to its first answer, in milliseconds. */
  readonly startUp: number
  /** Asks it to end, and kills it if it does not. */
  stop(): Promise<void>
}

/**
 * Starts a contender.
 * @param database what it is told of its store.
 * @param initialise whether it makes its tables: only then does an answer that there is no such book do.
 * @throws Error with what it wrote, if it ends or does not answer.
 */
export async function start(contender: Contender, database: string, initialise: boolean): Promise<Running> {
  const port = await freePort()
  const [file, ...args] = contender.command()
  const begin = performance.now()
  const child = spawn(file, args, {
    cwd: DIRECTORY,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      PORT: String(port),
      HOST,
      DATABASE: database,
      DB_URL: contender.store === 'sqlite' ? `sqlite:${database}` : database,
      INITIALISE: initialise ? 'yes' : 'no',
      SECRET_TOKEN: SECRET,
      USERNAME: ACCOUNT.username,
      PASSWORD: ACCOUNT.password,
      ...contender.environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4000)
    })
  }
  const failed = once(child, 'error').then(([error]) => {
    output += (error as Error).message
  })
  const ended = Promise.race([once(child, 'exit'), failed])
  const token = signToken(SECRET, Math.floor(Date.now() / 1000) + 600)
  const ready = initialise ? [200, 404] : [200]
  while (!ready.includes(await statusOfOneBook(port, token))) {
    const isLate = performance.now() - begin > START_TIME
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null || isLate) {
      child.kill('SIGKILL')
      await ended
      throw new Error(`${contender.title} does not answer. It said:\n${output}`)
    }
    await setTimeout(ASK_INTERVAL)
  }
  return {
    port,
    pid: child.pid ?? 0,
    startUp: performance.now() - begin,
    stop: () => stop(child, ended),
  }
}

async function stop(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const late = new AbortController()
  await Promise.race([ended, setTimeout(STOP_TIME, undefined, { signal: late.signal })])
  late.abort()
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await ended
  }
}

/** @returns 0 while nothing answers. */
function statusOfOneBook(port: number, token: string): Promise<number> {
  return new Promise((resolve) => {
    const options = { port, host: HOST, path: '/book/1', headers: { authorization: token }, agent: false }
    request(options, (response) => {
      response.resume().on('close', () => resolve(response.statusCode ?? 0))
    })
      .on('error', () => resolve(0))
      .end()
  })
}
