import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, openSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { ask, percentile } from '../faults/measure.ts'
import { readCount } from '../faults/options.ts'
import { logIn, untilIndexed } from '../support/client.ts'
import { MAIN } from '../support/command.ts'
import { findCommand } from '../support/find-command.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'
import { startedAsNpm } from '../support/started-as-npm.ts'

const USAGE = `Imports and exports a file, beside the programs that the databases bring for that, and measures time and memory.
Needs Linux, and the commands sqlite3 and psql.

npm run test:transfer -- [--rows N]      (1,000,000 by default)
`

const rows = readCount(USAGE, 'rows', 1_000_000)
const variables = startedAsNpm()
const directory = temporaryDirectory()
const path = (name: string) => join(directory.path, name)

interface Measured {
  readonly seconds: number
  /** MiB, all threads; the most that there was. */
  readonly memory: number
}

const COLUMNS = ['seconds', 'MiB at most', 'p99 of GET /book/1, ms', 'share of their speed'] as const
type Column = (typeof COLUMNS)[number]
const WIDTH = 28

function writeRow(cells: readonly string[]): void {
  process.stdout.write(
    `${cells
      .map((cell) => cell.padEnd(WIDTH))
      .join('')
      .trimEnd()}\n`,
  )
}

function report(what: string, { seconds, memory }: Partial<Measured>, more: { [_ in Column]?: string } = {}) {
  const cells = { seconds: seconds?.toFixed(2), 'MiB at most': memory?.toFixed(0), ...more }
  writeRow([what, ...COLUMNS.map((column) => cells[column] ?? '')])
}

const compared = (ours: Measured, theirs: Measured) => ({
  'share of their speed': `${Math.round((100 * theirs.seconds) / ours.seconds)} %`,
})

function peakMemory(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

/** Runs a program, whose output goes to a file. */
async function run(
  file: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Measured> {
  const begin = performance.now()
  const output = openSync(path('output'), 'w')
  const child = spawn(file, args, {
    cwd: directory.path,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', output, 'inherit'],
  })
  let memory = 0
  const watch = setInterval(() => {
    try {
      if (child.pid !== undefined) memory = Math.max(memory, peakMemory(child.pid) || 0)
    } catch (error) {
      // It has just ended.
      if (!(error instanceof Error && 'code' in error)) throw error
    }
  }, 10)
  const [code] = (await once(child, 'exit')) as [number | null]
  clearInterval(watch)
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${code}`)
  return { seconds: (performance.now() - begin) / 1000, memory }
}

const command = (dbUrl: string, ...args: string[]) =>
  run(process.execPath, [MAIN, ...args], { ...variables, DB_URL: dbUrl })

function writeBooks(): void {
  const words = [
    'night',
    'Garden',
    'of',
    'the',
    'Résumé',
    'sea',
    'Winter',
    'history',
    'glass',
    'river',
    'bird',
  ]
  const word = (n: number) => words[n % words.length]
  const lines = ['id,title,author,year']
  for (let i = 1; i <= rows; i++) {
    const title = `${word(i)} ${word(i * 7)} ${word(i * 13)} ${i}`
    const author = `${word(i)} Author ${i % 50_000}`
    lines.push(`${i},${i % 10 === 0 ? `"${title}, or ""${word(i)}"""` : title},${author},${1400 + (i % 620)}`)
  }
  writeFileSync(path('books.csv'), `${lines.join('\n')}\n`)
}

/** Reads a book again and again until the work is done, or for so long. @returns the milliseconds of each time. */
async function readMeanwhile(url: string, token: string, work: Promise<unknown>): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  let isDone = false
  const done = () => {
    isDone = true
  }
  work.then(done, done)
  while (!isDone) {
    const { status, ms } = await ask(url, agent, 'GET /book/1', token)
    if (status !== 200) throw new Error(`GET /book/1 was answered with ${status}`)
    times.push(ms)
    await setTimeout(2)
  }
  agent.destroy()
  return times
}

const p99 = (times: readonly number[]) => ({ 'p99 of GET /book/1, ms': percentile(times, 0.99).toFixed(1) })

/** @returns the seconds that it took. */
async function send(service: Service, token: string): Promise<number> {
  const begin = performance.now()
  const headers = { authorization: token, 'content-type': 'text/csv' }
  const sending = request(`${service.url}/books/import`, { method: 'POST', headers })
  createReadStream(path('books.csv')).pipe(sending)
  const [response] = await once(sending, 'response')
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== 200) throw new Error(`the import was answered with ${response.statusCode}`)
  return (performance.now() - begin) / 1000
}

async function measureService(): Promise<void> {
  const service = await startService(directory.path, { ...variables, DB_URL: 'sqlite:c.db' })
  try {
    const pid = service.process.pid ?? 0
    const token = await logIn(service.url)
    const agent = new Agent()
    await ask(service.url, agent, 'POST /book', token, '{"title":"T","author":"A","year":1}')
    const idle = await readMeanwhile(service.url, token, setTimeout(3000))
    report('the service, idle', { memory: peakMemory(pid) }, p99(idle))

    const sending = send(service, token)
    const times = await readMeanwhile(service.url, token, sending)
    report('import over HTTP', { seconds: await sending, memory: peakMemory(pid) }, p99(times))

    const begin = performance.now()
    await untilIndexed(service.url, token)
    report('the index follows', { seconds: (performance.now() - begin) / 1000, memory: peakMemory(pid) })

    const listed = performance.now()
    const response = await fetch(`${service.url}/books`, {
      headers: { authorization: token, accept: 'text/csv' },
    })
    await response.body?.pipeTo(new WritableStream())
    report('export over HTTP', { seconds: (performance.now() - listed) / 1000, memory: peakMemory(pid) })
  } finally {
    await service.stop()
  }
}

async function measureSqlite(): Promise<void> {
  const sqlite = findCommand(['sqlite3'], [])
  if (sqlite === undefined) throw new Error('there is no sqlite3')
  for (const name of ['a', 'b']) await command(`sqlite:${name}.db`, 'check')
  const ours = await command('sqlite:a.db', 'import', 'books.csv')
  const setup = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL'
  const theirs = await run(sqlite, ['b.db', setup, '.import --csv --skip 1 books.csv books'])
  report('import FILE', ours, compared(ours, theirs))
  report('sqlite3 .import', theirs)

  await measureService()
  const written = await command('sqlite:c.db', 'export', 'out.csv')
  const query = 'SELECT id, title, author, year FROM books'
  const selected = await run(sqlite, ['-csv', '-header', 'c.db', query])
  report('export FILE', written, compared(written, selected))
  report('sqlite3 -csv', selected)
}

async function measurePostgres(): Promise<void> {
  const psql = findCommand(['psql'], [])
  if (psql === undefined) throw new Error('there is no psql')
  const server = await startPostgres()
  try {
    const [url, other] = [await server.createDatabase(), await server.createDatabase()]
    for (const each of [url, other]) await command(each, 'check')
    const ours = await command(url, 'import', 'books.csv')
    const copy = "\\copy books (id, title, author, year) FROM 'books.csv' WITH (FORMAT csv, HEADER)"
    const theirs = await run(psql, ['-v', 'ON_ERROR_STOP=1', '-c', copy, other])
    report('import FILE, PostgreSQL', ours, compared(ours, theirs))
    report('psql \\copy', theirs)
  } finally {
    await server.remove()
  }
}

try {
  writeRow([`${rows} books`, ...COLUMNS])
  writeBooks()
  // From the second start on there is what the first has compiled.
  await command('sqlite:first.db', 'import', 'books.csv', '--dry-run')
  await (await startService(directory.path, { ...variables, DB_URL: 'sqlite:first.db' })).stop()
  await measureSqlite()
  await measurePostgres()
} finally {
  directory.remove()
}
