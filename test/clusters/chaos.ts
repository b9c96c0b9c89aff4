import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Book } from '../../src/catalogue/book.ts'
import { Caller } from '../faults/caller.ts'
import { readRows, serve } from '../faults/engine-servers.ts'
import { Journal } from '../faults/journal.ts'
import { Load } from '../faults/load.ts'
import { readAgainAndAgain } from '../faults/readers.ts'
import type { Databases } from '../support/database-server.ts'
import type { Service } from '../support/service.ts'

/** Whether everything is done as often as the long form wants it. */
export const isFull = process.env.CLUSTERS_FORM === 'full'

/** The pauses of a writer and of a reader between two requests, in milliseconds. */
const [WRITE_PAUSE, READ_PAUSE] = [20, 10]

/** Instances of the service, readers of each, and writers through both. */
const [SERVICES, READERS, WRITERS] = [2, 2, 10]

/** Writes through a service one after another, none of them refused, that tell that all works. */
const ENOUGH = 100

export interface ChaosEvent {
  readonly name: string
  /** @returns when the cluster is whole again. */
  run(): Promise<unknown>
}

/** What services have to survive, and what is asked of them beside what always is. */
export interface Row {
  readonly databases: Databases
  /** DB_URL, of the URL that `createDatabase` returned; by default the same. */
  readonly dbUrl?: ((url: string) => string) | undefined
  readonly events: readonly ChaosEvent[]
  /** Through both services together. */
  readonly writers?: number
  /** The most requests that are refused at an event, if each may wait for its end. */
  readonly mayBeRefused?: number
  /** Whether reads go on during the events. */
  readonly readsGoOn?: boolean
}

/** The URL with all servers of a cluster. @param query such as `?name=value`. */
export const severalHosts = (addresses: readonly string[], query = '') => {
  return (url: string) => url.replace(/(?<=@)[^/]*/, addresses.join()) + query
}

export const repeat = (times: number, event: (i: number) => ChaosEvent) =>
  Array.from({ length: times }, (_, i) => event(i))

/**
 * Runs the events, one after the other, while writers and readers use two services, and checks what has to hold in any
 * case: nothing that was acknowledged is lost, nothing is done twice, each request is answered, and the services, which
 * are never restarted, work again after each event.
 */
export async function surviveChaos(t: TestContext, row: Row): Promise<void> {
  const { databases, dbUrl = (url) => url, events, writers = WRITERS, mayBeRefused } = row
  // Where refusals count, every request has time to wait for the end of an event.
  const settings = { STORE_TIMEOUT: mayBeRefused === undefined ? '4' : '60' }
  const url = await databases.createDatabase()
  const services: Service[] = []
  for (let i = 0; i < SERVICES; i++) services.push(await serve(t, dbUrl(url), settings))
  const journal = new Journal()
  const options = { clients: writers / SERVICES, leaveRefused: true, pause: WRITE_PAUSE }
  const loads = services.map((service) => new Load(service.url, journal, options))
  const readers = await Promise.all(
    services.flatMap((service) => Array.from({ length: READERS }, () => readOwnBook(service, journal))),
  )
  const reads = (which: 'whole' | 'refused' | 'cut') =>
    readers.reduce((sum, { figures }) => sum + figures[which], 0)
  const working = () =>
    Promise.all(
      loads.map((load) => {
        load.inARow = 0
        return load.until(() => load.inARow > ENOUGH)
      }),
    )
  await working()

  for (const event of events) {
    const before = reads('whole')
    await event.run()
    const during = reads('whole') - before
    t.diagnostic(`${event.name}: ${during} reads; ${JSON.stringify(journal.figures)}`)
    if (row.readsGoOn) assert.ok(during > 100, `only ${during} reads were answered during the event`)
    await working()
  }

  await Promise.all([...loads, ...readers].map((each) => each.stop()))
  for (const service of services) assert.deepEqual(await service.stop(), { code: 0, signal: null })
  journal.compare({ rows: await readRows(databases, url), integrity: 'ok' })
  const { acknowledged, lost, unexplained, unknown } = journal.figures
  const refused = journal.figures.refused + reads('refused')
  const figures = { events: events.length, acknowledged, refused, lost, doubled: unexplained }
  t.diagnostic(JSON.stringify(figures))
  assert.deepEqual(journal.faults, [])
  assert.equal(unknown + reads('cut'), 0, 'the service cut connections')
  if (mayBeRefused !== undefined)
    assert.ok(refused <= events.length * mayBeRefused, `${refused} requests were refused`)
}

/** Creates a book, and reads it again and again. */
async function readOwnBook(service: Service, journal: Journal) {
  const caller = new Caller(service)
  const book = journal.newBook()
  const content = { author: 'A', year: 1 }
  const { id } = await caller.ok<Book>('POST /book', { title: book.title, ...content })
  journal.record(book, { kind: 'create', content }, 'acknowledged', id)
  return readAgainAndAgain<Book>(caller, `GET /book/${id}`, (read) => journal.observe(book, read), READ_PAUSE)
}
