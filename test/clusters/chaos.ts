import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { failuresIn } from '../faults/caller.ts'
import { readRows, serve, until } from '../faults/engine-servers.ts'
import { Journal, type TrackedBook } from '../faults/journal.ts'
import { assertUnavailable, Load, send } from '../faults/load.ts'
import { stoodStill, stopwatch } from '../support/cpu-time.ts'
import type { Databases } from '../support/database-server.ts'
import { RawConnection } from '../support/raw-socket.ts'
import type { Service } from '../support/service.ts'
import { NO_PAUSE, Probe } from './probe.ts'
import { Times } from './times.ts'

/** Whether everything is done as often as the long form wants it. */
export const isFull = process.env.CLUSTERS_FORM === 'full'

/** How long nothing has to be refused before an event, and after it; milliseconds, as all times here. */
const CALM = 2000

/** How long after an event all has to work again. */
const PATIENCE = 60_000

/** The pauses of a writer and of a reader between two requests. */
const [WRITE_PAUSE, READ_PAUSE] = [20, 10]

/** Instances of the service, readers of each, and writers through both. */
const [SERVICES, READERS, WRITERS] = [2, 2, 10]

/** No service outlives tests that are killed. */
const ENDS_WITH_TESTS = ['setpriv', '--pdeathsig', 'KILL']

/** The deadline of the service, in seconds. */
const STORE_TIMEOUT = 4

/** What a response may take beside the deadline, in milliseconds: less than another attempt to connect takes. */
const GRACE = 2500

/** When the machine stood still for longer, shares and rates tell nothing; milliseconds. */
const NO_STALL = 500

/**
 * A write has to succeed within this time of the database's own recovery. It usually takes a tenth of it. HAProxy has to
 * notice the recovery too, and a machine with two processors runs the whole cluster.
 */
const RECOVERY = 2000

/** How a service reaches the database. */
export interface Way {
  /** DB_URL, of the URL that `createDatabase` returned. */
  dbUrl(url: string): string
  /** The URLs with one server each, of which one can be written to. */
  targets(url: string): readonly string[]
  /** Environment variables of the service. */
  readonly settings?: Readonly<Record<string, string>>
}

/** As the URL says. */
export const direct: Way = { dbUrl: (url) => url, targets: (url) => [url] }

/** All servers in DB_URL. @param query such as `?name=value`. */
export function severalHosts(addresses: readonly string[], query = ''): Way {
  const at = (url: string, address: string) => url.replace(/(?<=@)[^/]*/, address)
  return {
    dbUrl: (url) => at(url, addresses.join()) + query,
    targets: (url) => addresses.map((address) => at(url, address)),
  }
}

export interface ChaosEvent {
  readonly name: string
  /** @returns when the cluster is whole again. */
  run(): Promise<unknown>
}

/** What services have to survive, and what is asked of them beside what always is. */
export interface Row {
  readonly databases: Databases
  readonly way: Way
  readonly events: readonly ChaosEvent[]
  /** Through both services together. */
  readonly writers?: number
  /** The answers 503 among a thousand; unless it is 0, each writer may get one at each event all the same. */
  readonly mayBeRefused?: number
  /** STORE_TIMEOUT of the services, in seconds. */
  readonly storeTimeout?: number
  /** Whether nobody tells the services that a server is gone: writes that it has got already hang until their deadline. */
  readonly isSilent?: boolean
  /** The share of the usual rate of reads that goes on while nothing can be written. */
  readonly readsGoOn?: number
}

/** Names of columns with what they say of each row. To be printed after all tests of a file. */
export const table: Record<string, string | number>[] = []

/**
 * Runs the events, one after the other, while ten writers and some readers use two services, and checks what has to
 * hold in any case: nothing that was acknowledged is lost, nothing is done twice, each response comes in time, and the
 * services, which are never restarted, work again as soon as the database does.
 */
export async function surviveChaos(t: TestContext, row: Row): Promise<void> {
  const end = await run(t, row)
  const { journal, responses, refused, recovery, slowest, reads } = end
  const perThousand = (1000 * refused) / responses
  const { acknowledged, lost, unexplained, unknown } = journal.figures
  const figures = {
    row: t.name,
    events: row.events.length,
    acknowledged,
    lost,
    doubled: unexplained,
    'answers 503': refused,
    'per thousand': perThousand.toFixed(2),
    'database paused ≤ ms': end.pause,
    'then written after ≤ ms': recovery,
    'slowest ms': slowest,
    'stood still ms': Math.round(end.stalled),
    'reads/s before': Math.round(reads.before),
    'reads/s while paused ≥': Number.isFinite(reads.during) ? Math.round(reads.during) : '–',
  }
  table.push(figures)
  t.diagnostic(JSON.stringify(figures))
  for (const [cause, lines] of Map.groupBy(end.services.flatMap(failuresIn), causeOf))
    t.diagnostic(`logged ${lines.length} times: ${cause}`)

  await t.test('nothing acknowledged is lost, and nothing is done twice', () =>
    assert.deepEqual(journal.faults, []),
  )
  const { mayBeRefused, readsGoOn, isSilent, storeTimeout = STORE_TIMEOUT } = row
  const longest = 1000 * storeTimeout + GRACE
  await t.test(`every response comes within ${longest} ms`, () => {
    assert.ok(slowest <= longest, `a response took ${slowest} ms`)
    assert.equal(unknown + end.cut, 0, 'the service cut connections')
  })
  await t.test('it works again after each event, without a restart', () => {
    assert.ok(end.isWorking, `it does not work ${PATIENCE} ms after the last event`)
    for (const each of end.ends) assert.deepEqual(each, { code: 0, signal: null })
  })
  const bound = isSilent ? Math.max(RECOVERY, longest + RECOVERY - end.pause) : RECOVERY
  await t.test(`it writes within ${bound} ms of the database’s own recovery`, () =>
    assert.ok(recovery <= bound, `it did after ${recovery} ms`),
  )
  // What waits longer than its deadline is refused, and on a slow machine the database itself may take as long.
  if (mayBeRefused !== undefined && end.pause < 1000 * (storeTimeout - 1) && end.stalled < NO_STALL)
    await t.test(`at most ${mayBeRefused} of a thousand answers are 503`, () => {
      // On a slow machine there are few responses, and as many writes in flight that are cut off.
      const inFlight = mayBeRefused === 0 ? 0 : row.events.length * (row.writers ?? WRITERS)
      const most = Math.max(inFlight, (mayBeRefused * responses) / 1000)
      assert.ok(refused <= most, `${refused} of ${responses} are`)
    })
  if (readsGoOn !== undefined && end.stalled < NO_STALL)
    await t.test(`reads go on at ${readsGoOn} of their usual rate, at least`, () =>
      assert.ok(
        reads.during >= readsGoOn * reads.before,
        `${reads.during} instead of ${reads.before} a second`,
      ),
    )
}

async function run(
  t: TestContext,
  { databases, way, events, writers = WRITERS, storeTimeout = STORE_TIMEOUT }: Row,
) {
  const settings = { ...way.settings, STORE_TIMEOUT: String(storeTimeout) }
  const still = stoodStill()
  const url = await databases.createDatabase()
  const services: Service[] = []
  for (let i = 0; i < SERVICES; i++) services.push(await serve(t, way.dbUrl(url), settings, ENDS_WITH_TESTS))
  const journal = new Journal()
  const clients = services.map((service) => new Clients(service, journal, writers / services.length))
  const probe = new Probe(
    () => way.targets(url),
    () => {
      for (const each of clients) each.databaseRecovers()
    },
  )
  await probe.start()
  t.after(() => probe.stop())
  const sum = (of: (each: Clients) => number) => clients.reduce((sum, each) => sum + of(each), 0)
  await Promise.all(clients.map((each) => each.begun()))
  await setTimeout(CALM)

  const reads = { before: 0, during: Number.POSITIVE_INFINITY }
  let [recovery, longest, isWorking] = [0, 0, true]
  for (const event of events) {
    const begin = Date.now()
    for (const each of clients) each.takeRecovery()
    const [refusedBefore, before] = [
      sum(({ refused }) => refused),
      sum(({ reads }) => reads.rate(begin - CALM, begin)),
    ]
    await event.run()
    const over = Date.now()
    isWorking = await until(
      'nothing is refused',
      () => clients.every((each) => each.isCalm(over)),
      PATIENCE,
    ).then(
      () => true,
      () => false,
    )
    const pause = probe.written.longestPause(begin, Date.now())
    const length = pause.end - pause.begin
    const isPause = length > NO_PAUSE
    const after = Math.max(...clients.map((each) => each.takeRecovery()))
    const during = isPause ? sum(({ reads }) => reads.rate(pause.begin, pause.end)) : Number.POSITIVE_INFINITY
    t.diagnostic(
      `${event.name}: ${Date.now() - begin} ms, of which the database could not be written for ${length}; written again after ${after} ms; ${sum(({ refused }) => refused) - refusedBefore} answers 503`,
    )
    recovery = Math.max(recovery, after)
    longest = Math.max(longest, length)
    reads.before += before / events.length
    reads.during = Math.min(reads.during, during)
    if (!isWorking) break
  }

  await Promise.all(clients.map((each) => each.stop()))
  probe.stop()
  const ends = await Promise.all(services.map((service) => service.stop()))
  journal.compare({ rows: await readRows(databases, url), integrity: 'ok' })
  return {
    services,
    journal,
    ends,
    reads,
    recovery,
    isWorking,
    pause: longest,
    stalled: stoodStill() - still,
    refused: sum(({ refused }) => refused),
    responses: sum(({ responses }) => responses),
    cut: sum(({ cut }) => cut),
    slowest: Math.max(...clients.map(({ slowest }) => slowest)),
  }
}

/** Writers and readers of one service. */
class Clients {
  readonly written = new Times()
  readonly reads = new Times()
  refused = 0
  responses = 0
  /** The longest that it took from the database's recovery until a write succeeded, since it was asked for last. */
  #recovery = 0
  #recovering: (() => number) | undefined
  /** Connections that the service ended. */
  cut = 0
  #slowestRead = 0
  #lastRefused = 0
  #isStopping = false
  readonly #service: Service
  readonly #load: Load
  readonly #readers: Promise<void>

  constructor(service: Service, journal: Journal, writers: number) {
    this.#service = service
    this.#load = new Load(service.url, journal, {
      clients: writers,
      leaveRefused: true,
      pid: service.process.pid,
      pause: WRITE_PAUSE,
      onOutcome: (outcome) => {
        if (outcome === 'acknowledged') this.#acknowledge()
        this.#count(outcome === 'refused')
      },
    })
    this.#readers = this.#load
      .begun()
      .then(() => Promise.all(Array.from({ length: READERS }, () => this.#read(journal))))
      .then(() => {})
  }

  async begun(): Promise<void> {
    await this.#load.begun()
  }

  /** Whether nothing has been refused for a while since this time, and something has been written. */
  isCalm(since: number): boolean {
    const calm = Math.max(since, this.#lastRefused)
    return Date.now() - calm > CALM && this.written.last > calm
  }

  databaseRecovers(): void {
    this.#recovering ??= stopwatch(this.#service.process.pid)
  }

  takeRecovery(): number {
    const recovery = Math.max(this.#recovery, this.#recovering?.() ?? 0)
    this.#recovery = 0
    return recovery
  }

  get slowest(): number {
    return Math.max(this.#load.slowest, this.#slowestRead)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all([this.#load.stop(), this.#readers])
  }

  #acknowledge(): void {
    this.written.add()
    if (this.#recovering === undefined) return
    this.#recovery = Math.max(this.#recovery, this.#recovering())
    this.#recovering = undefined
  }

  #count(isRefused: boolean): void {
    this.responses++
    if (!isRefused) return
    this.refused++
    this.#lastRefused = Date.now()
  }

  async #read(journal: Journal): Promise<void> {
    using connection = await RawConnection.open(this.#service.url)
    const book = await createBook(connection, journal)
    while (!this.#isStopping) {
      const time = stopwatch(this.#service.process.pid)
      const response = await send(connection, `GET /book/${book.id}`)
      this.#slowestRead = Math.max(this.#slowestRead, time())
      if (response === undefined) {
        this.cut++
        return
      }
      if (response.status === 503) assertUnavailable(response)
      else {
        assert.equal(response.status, 200, response.body)
        journal.observe(book, JSON.parse(response.body).data)
        this.reads.add()
      }
      this.#count(response.status === 503)
      await setTimeout(READ_PAUSE)
    }
  }
}

async function createBook(connection: RawConnection, journal: Journal): Promise<TrackedBook> {
  const book = journal.newBook()
  const content = { author: 'A', year: 1 }
  const response = await send(connection, 'POST /book', { title: book.title, ...content })
  assert.ok(response?.status === 201, `${response?.body}`)
  journal.record(book, { kind: 'create', content }, 'acknowledged', JSON.parse(response.body).data.id)
  return book
}

function causeOf({ msg, err }: ReturnType<typeof failuresIn>[number]): string {
  return `${msg}: ${err?.message}`
}
