import assert from 'node:assert/strict'
import { beforeEach, mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Driver, Kind } from '../../../src/store/client-server/connections.ts'
import type { ErrorMeaning } from '../../../src/store/client-server/errors.ts'
import { ConnectionPool } from '../../../src/store/client-server/pool.ts'

/** A connection to nothing. */
export interface FakeConnection {
  state: 'open' | 'lost' | 'destroyed' | 'ended'
  cancelled: boolean
  onLost: () => void
}

/** Connections that end when a test says so. What a test does not replace, happens at once. */
export class FakeDriver implements Driver<FakeConnection> {
  /** What errors mean. Of any other, nothing is known. */
  readonly meanings = new Map<unknown, ErrorMeaning>()
  /** All that were ever made, in their order. */
  readonly made: FakeConnection[] = []
  connecting: () => Promise<void> = async () => {}
  ending: () => Promise<void> = async () => {}
  resetting: () => Promise<void> = async () => {}
  cancelling: () => Promise<void> = async () => {}

  async connect(): Promise<FakeConnection> {
    await this.connecting()
    const connection: FakeConnection = { state: 'open', cancelled: false, onLost: () => {} }
    this.made.push(connection)
    return connection
  }

  meaningOf(error: unknown): ErrorMeaning {
    return this.meanings.get(error) ?? { outcome: 'unknown' }
  }

  onLost(connection: FakeConnection, callback: () => void): void {
    connection.onLost = callback
  }

  /** As when the server, or the network, ends a connection. */
  lose(connection: FakeConnection): void {
    connection.state = 'lost'
    connection.onLost()
  }

  async cancel(connection: FakeConnection): Promise<void> {
    connection.cancelled = true
    await this.cancelling()
  }

  async reset(connection: FakeConnection): Promise<void> {
    await this.resetting()
    if (connection.state !== 'open') throw new Error('lost')
  }

  destroy(connection: FakeConnection): void {
    assert.notEqual(connection.state, 'destroyed', 'destroyed twice')
    connection.state = 'destroyed'
    connection.onLost()
  }

  async end(connection: FakeConnection): Promise<void> {
    await this.ending()
    if (connection.state === 'destroyed') return
    connection.state = 'ended'
    connection.onLost()
  }
}

/** How long a use may take, in milliseconds. */
export const DEADLINE = 4000

export let driver: FakeDriver

/** To be called in a file: gives each of its tests a driver, and time that passes only when the test says so. */
export function useDriver(): void {
  beforeEach(() => {
    mock.restoreAll()
    // What is random takes its longest.
    mock.method(Math, 'random', () => 1)
    mock.timers.reset()
    mock.timers.enable({ apis: ['setTimeout', 'Date'] })
    driver = new FakeDriver()
  })
}

/** How old a connection may become, in milliseconds. */
export const MAX_AGE = 1_800_000

/** A pool of a store that is open. */
export function newPool(size: number): ConnectionPool<FakeConnection> {
  const pool = new ConnectionPool<FakeConnection>(driver, { size, timeout: DEADLINE, maxAge: MAX_AGE })
  pool.opened()
  return pool
}

/** Never. */
export const forever = () => new Promise<never>(() => {})

/** Waits until everything has happened that does not wait for a timer. */
export const settle = () => setImmediate()

/** Lets time pass, in steps, so that what a timer starts happens before the next. */
export async function pass(time: number): Promise<void> {
  for (let rest = time; rest > 0; rest -= 500) {
    mock.timers.tick(Math.min(rest, 500))
    await settle()
  }
}

/** Work that gives back the connection that it got. */
export const self = async (connection: FakeConnection) => connection

/** A use whose work ends when the test says so. */
export function begin(pool: ConnectionPool<FakeConnection>, kind: Kind = 'read', client = '') {
  const work = Promise.withResolvers<string>()
  const got: { connection?: FakeConnection } = {}
  const use = watch(
    pool.run(
      (connection) => {
        got.connection = connection
        return work.promise
      },
      { kind, client },
    ),
  )
  return { ...work, use, got }
}

/** So many uses that have begun, each on a connection if there was one. */
export async function beginAll(
  pool: ConnectionPool<FakeConnection>,
  count: number,
  kind?: Kind,
  client?: string,
) {
  const uses = Array.from({ length: count }, () => begin(pool, kind, client))
  await settle()
  return uses
}

/** Lets the work of these uses end, and waits until they have. */
export async function endAll(...uses: readonly ReturnType<typeof begin>[]): Promise<void> {
  for (const { resolve } of uses) resolve('done')
  await settle()
}

/** How a promise stands. */
export interface Watched<Result> {
  state: 'pending' | 'fulfilled' | 'rejected'
  value?: Result
  error?: unknown
}

export function watch<Result>(promise: Promise<Result>): Watched<Result> {
  const watched: Watched<Result> = { state: 'pending' }
  promise.then(
    (value) => Object.assign(watched, { state: 'fulfilled', value }),
    (error) => Object.assign(watched, { state: 'rejected', error }),
  )
  return watched
}
