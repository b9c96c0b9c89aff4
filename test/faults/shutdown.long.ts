import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openPatiently } from '../store/new-database.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import { ACCOUNT, startService, temporaryDirectory } from '../support/service.ts'
import { connectUntilRefused } from '../support/slow-request.ts'
import { EXP, expiringAt } from '../support/tokens.ts'
import { readStored } from './stored.ts'

/** More of them by hand: `SHUTDOWN_CYCLES=100`. */
const CYCLES = Number(process.env.SHUTDOWN_CYCLES ?? 5)

const CLIENTS = 32

const authorization = `Authorization: ${expiringAt(EXP)}`

const directory = temporaryDirectory()
after(directory.remove)

// Book 1, and a list that is longer than what the system takes for a client that halts.
before(async () => {
  const store = await openPatiently(`sqlite:${join(directory.path, 'books.db')}`)
  const author = 'A'.repeat(50_000)
  await Promise.all(Array.from({ length: 200 }, (_, year) => store.create({ title: 'T', author, year })))
  await store.close()
})

it('SIGTERM leaves no connection without a response that was made before it, although it is not accepted yet', async () => {
  const service = await startService(directory.path)
  service.process.kill('SIGSTOP')
  const connections = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(service.url)))
  await Promise.all(connections.map((connection) => connection.send(head('GET /nowhere'))))
  const stopping = service.stop()
  service.process.kill('SIGCONT')
  for (const connection of connections) assert.equal((await connection.response()).status, 404)
  assert.deepEqual(await stopping, { code: 0, signal: null })
})

for (let cycle = 1; cycle <= CYCLES; cycle++)
  it(`SIGTERM under load cuts no response, and leaves no request without one that was sent before it: ${cycle}`, async () => {
    const service = await startService(directory.path)
    const load = new Requests()
    const clients = Array.from({ length: CLIENTS }, (_, i) =>
      load.client(service.url, `cycle ${cycle} client ${i}`),
    )
    // One that is in the middle of its body, and one that does not read its response yet.
    const body = bodyOf('POST /book', 'halting')
    const writer = await RawConnection.open(service.url)
    await writer.send(requestOf('POST /book', body).slice(0, -1))
    const reader = await RawConnection.open(service.url)
    reader.stopReading()
    await reader.send(requestOf('GET /books', ''))
    const enough = 200 + 400 * Math.random()
    while (load.answered < enough) await setTimeout(1)
    load.isStopping = true
    const stopping = service.stop()
    await assert.rejects(connectUntilRefused(service.url))
    await writer.send(body.slice(-1))
    assert.equal((await writer.response()).status, 201)
    assert.match(await reader.rest(), /\r\n0\r\n\r\n$/)
    assert.deepEqual(await stopping, { code: 0, signal: null })
    await Promise.all(clients)
    const stored = new Set(readStored(join(directory.path, 'books.db')).rows.map(({ title }) => title))
    for (const title of load.unanswered)
      if (stored.has(title)) load.faults.push(`${title}: stored, and not answered`)
    assert.deepEqual(load.faults, [])
  })

/** Clients that each keep a connection and send requests until the service accepts none. */
class Requests {
  readonly faults: string[] = []
  /** The titles of books that may not be stored. */
  readonly unanswered: string[] = []
  answered = 0
  isStopping = false

  async client(url: string, name: string): Promise<void> {
    for (let i = 0; ; ) {
      const opened = await RawConnection.open(url).catch(() => undefined)
      if (opened === undefined) return
      using connection = opened
      do i++
      while (await this.#ask(connection, `${name} request ${i}`))
    }
  }

  /** @returns whether the connection stays. */
  async #ask(connection: RawConnection, title: string): Promise<boolean> {
    const line = pick()
    await connection.send(requestOf(line, bodyOf(line, title)))
    // What the system had before the signal is there for the service to read.
    const isOwed = !this.isStopping
    try {
      const { status, headers } = await connection.response()
      this.answered++
      if (status !== 503 && status >= 400) this.faults.push(`${line} (${title}): ${status}`)
      return headers.get('connection') !== 'close'
    } catch (error) {
      const isCut = !/received ""$/.test((error as Error).message)
      if (isCut || isOwed) this.faults.push(`${line} (${title}): ${error}`)
      if (line === 'POST /book') this.unanswered.push(title)
      return false
    }
  }
}

function pick(): string {
  const chance = Math.random()
  if (chance < 0.6) return 'POST /book'
  // Each takes as long as a hundred of the others.
  if (chance < 0.605) return 'GET /books?limit=200'
  return chance < 0.7 ? 'POST /token' : 'GET /book/1'
}

function bodyOf(line: string, title: string): string {
  if (line === 'POST /token') return JSON.stringify(ACCOUNT)
  return line === 'POST /book' ? JSON.stringify({ title, author: 'A'.repeat(500), year: 1 }) : ''
}

const requestOf = (line: string, body: string) =>
  head(line, authorization, `Content-Length: ${Buffer.byteLength(body)}`) + body
