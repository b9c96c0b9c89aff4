import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Databases } from '../support/database-server.ts'
import { ANSWER_TIME, Caller, RECOVERY_TIME } from './caller.ts'
import { connections, readRows, serve, until } from './engine-servers.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'

/** How long the load goes on before the fault, and how long nothing has to be refused after it; milliseconds. */
const CALM = 500

const CLIENTS = 16

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
  /** How long after that something may still be refused, in milliseconds. */
  readonly recovery?: number
  /** Whether some requests succeed meanwhile, or even all: as those do that wait for the end of a short one. */
  readonly isPartial?: boolean
}

/**
 * Checks what has to hold for every outage: each request is answered in time, refused at worst; all works again soon
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
  const service = await serve(t, way(url))
  const journal = new Journal()
  const { pid } = service.process
  const load = new Load(service.url, journal, { clients: CLIENTS, leaveRefused: true, pid })
  await using lists = listAgainAndAgain(new Caller(service))
  await load.begun()
  await setTimeout(CALM)
  assert.equal(journal.figures.refused, 0)

  await outage.begin()
  await setTimeout(outage.duration)
  const during = journal.figures
  await outage.end()
  const end = Date.now()
  const first = await until('a write succeeds', () => journal.figures.acknowledged > during.acknowledged)
  await until('nothing is refused any more', () => {
    const calm = Date.now() - Math.max(load.lastRefused, end)
    return calm >= CALM && journal.figures.acknowledged > during.acknowledged + ENOUGH
  })
  await load.stop()
  const listed = await lists.stop()

  const last = Math.max(0, load.lastRefused - end)
  const slowest = Math.max(load.slowest, listed.slowest)
  t.diagnostic(`first write ${first} ms, last refusal ${last} ms after the end; slowest answer ${slowest} ms`)
  t.diagnostic(JSON.stringify({ ...journal.figures, reads: load.reads, lists: listed }))
  if (!outage.isPartial) assert.ok(during.refused >= CLIENTS / 2, 'too little was refused for an outage')
  assert.ok(last < (outage.recovery ?? RECOVERY_TIME), `a write was refused ${last} ms after the end`)
  assert.ok(slowest < ANSWER_TIME, `an answer took ${slowest} ms`)
  assert.ok(
    listed.whole > 0 && (outage.isPartial || listed.refused + listed.cut > 0),
    'too few lists to tell',
  )
  assert.equal(journal.figures.unknown, 0, 'the service cut connections')

  assert.deepEqual(await service.stop(), { code: 0, signal: null })
  await until('no connection is left', async () => (await connections(databases, url)).length === 0)
  journal.compare({ rows: await readRows(databases, url), integrity: 'ok' })
  assert.deepEqual(journal.faults, [])
}

function listAgainAndAgain(caller: Caller) {
  const lists = { whole: 0, refused: 0, cut: 0 }
  let stopping = false
  const ended = (async () => {
    while (!stopping) {
      lists[await caller.list()]++
      await setTimeout(PAUSE)
    }
  })()
  const stop = async () => {
    stopping = true
    await ended
    return { ...lists, slowest: caller.slowest }
  }
  return { stop, [Symbol.asyncDispose]: async () => void (await stop()) }
}
