import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { head, RawConnection } from '../support/raw-socket.ts'
import { startService, temporaryDirectory } from '../support/service.ts'
import { EXP, expiringAt } from '../support/tokens.ts'
import { readStored } from './stored.ts'

/** More of them by hand: `SHUTDOWN_CYCLES=100`. */
const CYCLES = Number(process.env.SHUTDOWN_CYCLES ?? 5)

/** Clients that keep their connection, and clients that make one for each request. */
const [KEEPING, CONNECTING] = [24, 8]

const authorization = `Authorization: ${expiringAt(EXP)}`

const directory = temporaryDirectory()
after(directory.remove)

// Requests whose bodies or responses take their time: test/http/shutdown.long.ts and test/cli/main.test.ts.
for (let cycle = 1; cycle <= CYCLES; cycle++)
  it(`SIGTERM under load cuts no response, and leaves no request without one that was sent before it: ${cycle}`, async () => {
    const service = await startService(directory.path, { THREADS: cycle % 2 === 0 ? '1' : '4' })
    const load = new Requests()
    const clients = Array.from({ length: KEEPING + CONNECTING }, (_, i) =>
      load.client(service.url, `cycle ${cycle} client ${i}`, i < KEEPING),
    )
    const enough = 200 + 400 * Math.random()
    while (load.answered < enough) await setTimeout(1)
    load.isStopping = true
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    await Promise.all(clients)
    const stored = new Set(readStored(join(directory.path, 'books.db')).rows.map(({ title }) => title))
    for (const title of load.unanswered)
      if (stored.has(title)) load.faults.push(`${title}: stored, and not answered`)
    assert.deepEqual(load.faults, [])
  })

/** Clients that send requests one after another until the service accepts no connection. */
class Requests {
  readonly faults: string[] = []
  /** The titles of books that may not be stored. */
  readonly unanswered: string[] = []
  answered = 0
  isStopping = false

  async client(url: string, name: string, isKeeping: boolean): Promise<void> {
    for (let i = 0; ; ) {
      const opened = await RawConnection.open(url).catch(() => undefined)
      if (opened === undefined) return
      using connection = opened
      do i++
      while ((await this.#ask(connection, `${name} request ${i}`, isKeeping)) && isKeeping)
    }
  }

  /** @returns whether the connection stays. */
  async #ask(connection: RawConnection, title: string, isKeeping: boolean): Promise<boolean> {
    const isWrite = Math.random() < 0.6
    const body = isWrite ? JSON.stringify({ title, author: 'A'.repeat(500), year: 1 }) : ''
    // Some take as long as many of the others.
    const line = isWrite ? 'POST /book' : `GET /books?limit=${Math.random() < 0.02 ? 200 : 1}`
    await connection.send(head(line, authorization, `Content-Length: ${body.length}`) + body)
    // What the system had before the signal is there for the service to read, but a new connection may not be accepted.
    const isOwed = isKeeping && !this.isStopping
    try {
      const { status, headers } = await connection.response()
      this.answered++
      if (status !== 503 && status >= 400) this.faults.push(`${line} (${title}): ${status}`)
      return headers.get('connection') !== 'close'
    } catch (error) {
      const isCut = !/received ""$/.test((error as Error).message)
      if (isCut || isOwed) this.faults.push(`${line} (${title}): ${error}`)
      if (isWrite) this.unanswered.push(title)
      return false
    }
  }
}
