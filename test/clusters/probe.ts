import { setTimeout } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { Times } from './times.ts'

/** The time between two writes; in milliseconds, as all that follow. */
const INTERVAL = 30

/** When it has written at least so often, it has not noticed anything. */
export const NO_PAUSE = 250

/** What took longer than this has failed, and there is an attempt on a new connection at every interval. */
const SLOW = 200

/** An attempt is given up after this time. */
const PATIENCE = 1000

/** How many attempts there are at once. */
const MAX_ATTEMPTS = 10

/** It works on every engine. */
const [CREATE, WRITE] = ['CREATE TABLE probe (id SERIAL)', 'INSERT INTO probe VALUES (DEFAULT)']

interface Connection {
  run(sql: string): Promise<unknown>
  destroy(): void
}

/**
 * A client that writes to a table of its own again and again, on the way that services take, to tell when the database
 * itself can be written.
 */
export class Probe {
  /** When a write was acknowledged. */
  readonly written = new Times()
  readonly #targets: () => readonly string[]
  readonly #onRecovery: () => void
  #connection: Connection | undefined
  #attempts = 0
  #isStopping = false

  /**
   * @param targets the URLs of the servers, of which one can be written to.
   * @param onRecovery called when a write succeeds after a pause.
   */
  constructor(targets: () => readonly string[], onRecovery: () => void) {
    this.#targets = targets
    this.#onRecovery = onRecovery
  }

  async start(): Promise<void> {
    this.#connection = await firstOf(this.#targets(), CREATE)
    void this.#run()
  }

  stop(): void {
    this.#isStopping = true
    this.#connection?.destroy()
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const isFailing = Date.now() - this.written.last > SLOW
      if (this.#attempts < (isFailing ? MAX_ATTEMPTS : 1)) void this.#attempt()
      await setTimeout(INTERVAL)
    }
  }

  async #attempt(): Promise<void> {
    this.#attempts++
    const kept = this.#connection
    this.#connection = undefined
    try {
      if (kept === undefined) this.#keep(await firstOf(this.#targets(), WRITE))
      else this.#keep(await use(kept, WRITE))
      if (Date.now() - this.written.last > NO_PAUSE) this.#onRecovery()
      this.written.add()
    } catch {
      // The next attempt connects anew.
    } finally {
      this.#attempts--
    }
  }

  #keep(connection: Connection): void {
    if (this.#connection !== undefined || this.#isStopping) connection.destroy()
    else this.#connection = connection
  }
}

/** @returns the connection to the first server that does it. */
async function firstOf(targets: readonly string[], sql: string): Promise<Connection> {
  const attempts = targets.map(async (url) => use(await connect(url), sql))
  const first = await Promise.any(attempts)
  for (const attempt of attempts)
    attempt.then(
      (connection) => connection !== first && connection.destroy(),
      () => {},
    )
  return first
}

async function use(connection: Connection, sql: string): Promise<Connection> {
  const late = setTimeout(PATIENCE, undefined, { ref: false }).then(() => {
    throw new Error('it took too long')
  })
  try {
    await Promise.race([connection.run(sql), late])
    return connection
  } catch (error) {
    connection.destroy()
    throw error
  }
}

async function connect(url: string): Promise<Connection> {
  if (url.startsWith('mysql:')) {
    const connection = await createConnection({ uri: url, connectTimeout: PATIENCE })
    connection.on('error', () => {})
    return { run: (sql) => connection.query(sql), destroy: () => connection.destroy() }
  }
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: PATIENCE })
  client.on('error', () => {})
  await client.connect()
  return { run: (sql) => client.query(sql), destroy: () => client.connection.stream.destroy() }
}
