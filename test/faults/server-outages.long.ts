import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { Book } from '../../src/catalogue/book.ts'
import type { DatabaseServer, Stop } from '../support/database-server.ts'
import { Caller } from './caller.ts'
import { killConnections, onEachServer, readRows, serve, until, untilUnused } from './engine-servers.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'
import { type Network, openNetwork } from './network.ts'
import { readAgainAndAgain } from './readers.ts'

const CLIENTS = 16

/** In seconds. */
const STORE_TIMEOUT = '4'

/** Writes one after another, none of them refused, that tell that all works. */
const ENOUGH = 100

/** What makes the database unusable for a while. */
interface Outage {
  begin?(server: DatabaseServer, network: Network): Promise<void> | void
  /** Ends it. @param url of the database. @returns when that can be used again. */
  end(server: DatabaseServer, network: Network, url: string): unknown
  /** Whether some requests succeed meanwhile, or even all: as those do that wait for the end of a short one. */
  readonly isPartial?: boolean
}

const restart = (how: Stop): Outage => ({
  begin: (server) => server.stop(how),
  end: (server) => server.start(),
  isPartial: true,
})

const OUTAGES: Record<string, Outage> = {
  'a clean restart': restart('clean'),
  'an immediate restart': restart('immediate'),
  'kill -9': restart('kill'),
  'standing still': { begin: (server) => server.freeze(), end: (server) => server.thaw() },
  'a network that falls silent': {
    begin: (_, network) => network.fallSilent(),
    end: (_, network) => network.restore(),
  },
  'that its connections are killed one by one': {
    end: (server, _, url) => {
      let killed = 0
      return until('enough connections are killed', async () => {
        killed += await killConnections(server, url)
        return killed > 30
      })
    },
    isPartial: true,
  },
}

/*
 * Each request is answered, refused at worst; all works again after; nothing that was acknowledged is lost, and nothing
 * is done twice, or although the response says that it was not.
 */
onEachServer('a database server under load', (server) => {
  for (const [name, outage] of Object.entries(OUTAGES))
    it(`survives ${name}`, (t) => surviveOutage(t, server(), outage))

  it('that stands still does not keep the service from ending', async (t) => {
    const service = await serve(t, await server().createDatabase(), { STORE_TIMEOUT })
    await new Caller(service).ok('GET /readyz')
    server().freeze()
    try {
      assert.deepEqual(await service.stop(), { code: 0, signal: null }, service.output())
    } finally {
      server().thaw()
    }
  })
})

async function surviveOutage(t: TestContext, server: DatabaseServer, outage: Outage): Promise<void> {
  const url = await server.createDatabase()
  await using network = await openNetwork(server)
  const service = await serve(t, network.url(url), { STORE_TIMEOUT })
  const journal = new Journal()
  const load = new Load(service.url, journal, { clients: CLIENTS, leaveRefused: true })
  const caller = new Caller(service)
  // A list that has begun is cut when it cannot go on.
  await using lists = readAgainAndAgain(caller, 'GET /books', assertSorted, 50)
  await load.until(() => load.inARow > ENOUGH)

  await outage.begin?.(server, network)
  if (!outage.isPartial) {
    await load.until(
      () => journal.figures.refused >= CLIENTS / 2 && lists.figures.refused + lists.figures.cut > 0,
    )
    await caller.unavailable('GET /readyz')
    await caller.ok('GET /healthz')
  }
  await outage.end(server, network, url)
  load.inARow = 0
  await load.until(() => load.inARow > ENOUGH)
  const { whole } = lists.figures
  await load.until(() => lists.figures.whole > whole + 1)
  await load.stop()
  await lists.stop()
  t.diagnostic(JSON.stringify({ ...journal.figures, reads: load.reads, lists: lists.figures }))
  assert.equal(journal.figures.unknown, 0, 'the service cut connections')

  assert.deepEqual(await service.stop(), { code: 0, signal: null })
  await untilUnused(server, url)
  journal.compare({ rows: await readRows(server, url), integrity: 'ok' })
  assert.deepEqual(journal.faults, [])
}

function assertSorted(books: readonly Book[]): void {
  const ids = books.map(({ id }) => id)
  assert.deepEqual(
    ids,
    [...new Set(ids)].toSorted((a, b) => a - b),
  )
}
