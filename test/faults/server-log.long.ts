import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { parseExposition, total } from '../support/exposition.ts'
import type { Service } from '../support/service.ts'
import { Caller } from './caller.ts'
import { onEachServer, serve, until } from './engine-servers.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'

const CLIENTS = 20

/** Clients that list, how long each waits when it is refused, in milliseconds, and doublings of the books that make many pages. */
const [LISTERS, PAUSE, DOUBLINGS] = [4, 50, 14]

/** How long a request may wait for the server, in seconds: so long that none fails while the server is there. */
const STORE_TIMEOUT = 3

/** How long the server is away, in milliseconds: longer than until the first failure and then between two sums in the log. */
const DURATION = 15_000

/** How long after it the log may take to tell of the end, in milliseconds. */
const END_TIME = 25_000

/** The most that the log may have of the outage, in bytes. */
const MAX_LOG = 20_000

interface Line {
  readonly level: number
  readonly msg: string
  readonly reqId?: string
  readonly method?: string
  readonly route?: string
  readonly err?: { readonly reason: string; readonly message: string; readonly stack?: string }
  readonly failed?: number
  readonly causes?: Readonly<Record<string, number>>
  readonly total?: number
  readonly seconds?: number
}

/** What the log tells of failures and their end, each line a whole JSON object. */
function linesOf(service: Service): Line[] {
  return (
    service
      .output()
      .trimEnd()
      .split('\n')
      // A start that takes long says what it does, in words.
      .filter((line) => !line.startsWith('DB_URL: '))
      .map((line): Line => JSON.parse(line))
      .filter(({ level, total }) => level >= 40 || total !== undefined)
  )
}

/** The failed requests that the lines tell of. */
const countIn = (lines: readonly Line[]) =>
  lines.reduce((sum, { err, failed = 0 }) => sum + (err === undefined ? failed : 1), 0)

onEachServer('the log while the database server is away', (server) => {
  it('begins with the cause, stays small, and ends with how many requests failed for how long', async (t) => {
    const url = await server().createDatabase()
    const service = await serve(t, url, { STORE_TIMEOUT: `${STORE_TIMEOUT}` })
    const journal = new Journal()
    const { pid } = service.process
    const caller = new Caller(service)
    await caller.create()
    const double = 'INSERT INTO books (title, author, year) SELECT title, author, year FROM books'
    for (let i = 0; i < DOUBLINGS; i++) await server().query(double, url)
    const lists = { whole: 0, refused: 0, cut: 0 }
    let isEnding = false
    const listing = Array.from({ length: LISTERS }, async () => {
      while (!isEnding) {
        const result = await caller.list()
        lists[result]++
        if (result !== 'whole') await setTimeout(PAUSE)
      }
    })
    const load = new Load(service.url, journal, { clients: CLIENTS, leaveRefused: true, pid })
    await load.begun()
    assert.deepEqual(linesOf(service), [])
    const before = service.output().length
    const begin = Date.now()
    await server().stop('immediate')
    await setTimeout(DURATION)
    await until('a sum is in the log', () => linesOf(service).some(({ causes }) => causes !== undefined))
    await server().start()
    const acknowledged = journal.figures.acknowledged
    await until('a write succeeds', () => journal.figures.acknowledged > acknowledged)
    const away = (Date.now() - begin) / 1000
    isEnding = true
    await Promise.all(listing)
    await until('the end is in the log', () => linesOf(service).at(-1)?.total !== undefined, END_TIME)
    await load.stop()

    const text = service.output().slice(before)
    const refused = journal.figures.refused + load.reads.failed + lists.refused + lists.cut
    t.diagnostic(`${text.length} bytes, ${refused} failures, lists: ${JSON.stringify(lists)}`)
    assert.ok(text.length < MAX_LOG, `${text.length} bytes`)
    const lines = linesOf(service)
    const [first] = lines
    const end = lines.at(-1)
    assert.match(first?.method ?? '', /^(GET|POST|PUT|DELETE)$/)
    assert.match(first?.route ?? '', /^\/books?(\/:id)?$/)
    assert.ok(first?.reqId)
    for (const { err } of lines.filter(({ err }) => err !== undefined)) {
      assert.match(err?.message ?? '', /^(the database server (failed: |did not answer)|no connection to )/)
      assert.doesNotMatch(err?.message ?? '', /(.{5,}): \1/)
      assert.equal(err?.stack, undefined)
    }
    assert.ok(
      lines.some(({ err }) => err?.reason === 'connection' && /ECONNREFUSED|ENOENT/.test(err.message)),
    )
    assert.ok(refused > 3 * CLIENTS)
    assert.deepEqual([end?.total, countIn(lines)], [refused, refused])
    assert.match(end?.msg ?? '', /available again/)
    const seconds = end?.seconds ?? 0
    const least = DURATION / 1000 - STORE_TIMEOUT - 1
    assert.ok(seconds > least && seconds < away + 1, `${seconds} of ${away} seconds`)
  })

  it('tells at the end of the service what it has not told yet, and the metrics tell the reason', async (t) => {
    const service = await serve(t, await server().createDatabase(), {
      METRICS_PORT: '0',
      STORE_TIMEOUT: `${STORE_TIMEOUT}`,
    })
    const metricsUrl = /"url":"([^"]*\/metrics)"/.exec(service.output())?.[1] ?? ''
    const caller = new Caller(service)
    assert.equal(await caller.list(), 'whole')
    await server().stop('immediate')
    for (let i = 0; i < 5; i++) assert.equal(await caller.list(), 'refused')
    const samples = parseExposition(await (await fetch(metricsUrl)).text())
    assert.equal(total(samples, 'store_failures_total', { reason: 'connection' }), 5)
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    const lines = linesOf(service)
    assert.deepEqual([lines.at(-1)?.total, countIn(lines)], [5, 5])
    assert.match(lines.at(-1)?.msg ?? '', /the service ends/)
    await server().start()
  })
})
