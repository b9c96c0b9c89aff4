import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Databases } from '../support/database-server.ts'
import { Caller } from './caller.ts'
import { connections, readRows, serve, until } from './engine-servers.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'

/** How long the load goes on before the fault, and nothing is refused after it; milliseconds. */
const CALM = 500

const CLIENTS = 16

/** `STORE_TIMEOUT`, in seconds. Less than any outage lasts that is not partial. */
const STORE_TIMEOUT = '4'

/** Writes after the outage that tell that all works again. */
const ENOUGH = 100

/** How long a client that lists waits between two lists, in milliseconds. */
const PAUSE = 50

/** What makes the database unusable for a while. */
export interface Outage {
  begin(): Promise<void> | void
  /** How long it lasts, in milliseconds. */
  readonly duration: number
  /** Ends it. @returns when the database can be used again. */
  end(): Promise<void> | void
  /** Whether some requests succeed meanwhile, or even all: as those do that wait for the end of a short one. */
  readonly isPartial?: boolean
}

/**
 * Checks what has to hold for every outage: each request is answered, refused at worst; all works again
 * after; nothing that was acknowledged is lost, and nothing is done twice.
 * @param way how the service reaches the database: its DB_URL, made of that of the server.
 */
export async function surviveOutage(
  t: TestContext,
  databases: Databases,
  outage: Outage,
  way: (url: string) => string = (url) => url,
): Promise<void> {
  const url = await databases.createDatabase()
  const service = await serve(t, way(url), { STORE_TIMEOUT })
  const journal = new Journal()
  const load = new Load(service.url, journal, { clients: CLIENTS, leaveRefused: true })
  await using lists = listAgainAndAgain(new Caller(service))
  await load.begun()
  await setTimeout(CALM)

  await outage.begin()
  await setTimeout(outage.duration)
  if (!outage.isPartial)
    await until(
      'enough is refused for an outage',
      () => journal.figures.refused >= CLIENTS / 2 && lists.figures.refused + lists.figures.cut > 0,
    )
  const during = journal.figures
  await outage.end()
  const end = Date.now()
  const first = await until('a write succeeds', () => journal.figures.acknowledged > during.acknowledged)
  await until('nothing is refused any more', () => {
    const calm = Date.now() - Math.max(load.lastRefused, end)
    return calm >= CALM && journal.figures.acknowledged > during.acknowledged + ENOUGH
  })
  await load.stop()
  const slowest = Math.max(load.slowest, await lists.stop())
  const last = Math.max(0, load.lastRefused - end)
  t.diagnostic(`first write ${first} ms, last refusal ${last} ms after the end; slowest answer ${slowest} ms`)
  t.diagnostic(JSON.stringify({ ...journal.figures, reads: load.reads, lists: lists.figures }))
  assert.ok(lists.figures.whole > 0, 'too few lists to tell')
  assert.equal(journal.figures.unknown, 0, 'the service cut connections')

  assert.deepEqual(await service.stop(), { code: 0, signal: null })
  await until('no connection is left', async () => (await connections(databases, url)).length === 0)
  journal.compare({ rows: await readRows(databases, url), integrity: 'ok' })
  assert.deepEqual(journal.faults, [])
}

function listAgainAndAgain(caller: Caller) {
  const figures = { whole: 0, refused: 0, cut: 0 }
  let stopping = false
  const ended = (async () => {
    while (!stopping) {
      figures[await caller.list()]++
      await setTimeout(PAUSE)
    }
  })()
  const stop = async () => {
    stopping = true
    await ended
    return caller.slowest
  }
  return { figures, stop, [Symbol.asyncDispose]: async () => void (await stop()) }
}
