import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { parseExposition, total } from '../support/exposition.ts'
import type { Service } from '../support/service.ts'
import { Caller, SOON } from './caller.ts'
import { onEachServer, serve, until } from './engine-servers.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'

const CLIENTS = 20

/** Clients that list, how long each waits when it is refused, in milliseconds, and doublings of the books that make many pages. */
const [LISTERS, PAUSE, DOUBLINGS] = [4, 50, 12]

/** How long the log may take to tell of the outage, and of its end, in milliseconds: it sums up every 10 seconds. */
const LOG_TIME = 60_000

/** How long a client waits between two writes, in milliseconds. */
const REST = 50

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
    const service = await serve(t, url, { STORE_TIMEOUT: SOON })
    const journal = new Journal()
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
    const load = new Load(service.url, journal, {
      clients: CLIENTS,
      leaveRefused: true,
      pause: REST,
    })
    await load.begun()
    assert.deepEqual(linesOf(service), [])
    const before = service.output().length
    const begin = Date.now()
    await server().stop('immediate')
    const isSummedUp = () => linesOf(service).some(({ causes }) => causes !== undefined)
    await until('a sum is in the log', isSummedUp, LOG_TIME)
    await server().start()
    const acknowledged = journal.figures.acknowledged
    await until('a write succeeds', () => journal.figures.acknowledged > acknowledged)
    isEnding = true
    await Promise.all(listing)
    await until('the end is in the log', () => linesOf(service).at(-1)?.total !== undefined, LOG_TIME)
    const most = (Date.now() - begin) / 1000
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
    assert.ok(refused > CLIENTS)
    assert.deepEqual([end?.total, countIn(lines)], [refused, refused])
    assert.match(end?.msg ?? '', /available again/)
    const seconds = end?.seconds ?? 0
    // It is rounded.
    assert.ok(0 < seconds && seconds < most + 1, `${seconds} of ${most} seconds`)
  })
})

onEachServer('the log when the service ends while the database server is away', (server) => {
  it('tells what it has not told yet, and the metrics tell the reason', async (t) => {
    const service = await serve(t, await server().createDatabase(), {
      METRICS_PORT: '0',
      STORE_TIMEOUT: SOON,
    })
    const metricsUrl = /"url":"([^"]*\/metrics)"/.exec(service.output())?.[1] ?? ''
    const caller = new Caller(service)
    assert.equal(await caller.list(), 'whole')
    await server().stop('immediate')
    const lists = await Promise.all(Array.from({ length: 5 }, () => caller.list()))
    assert.deepEqual(new Set(lists), new Set(['refused']))
    const samples = parseExposition(await (await fetch(metricsUrl)).text())
    assert.equal(total(samples, 'store_failures_total', { reason: 'connection' }), 5)
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    const lines = linesOf(service)
    assert.equal(countIn(lines), 5)
  })
})
