import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import { logIn } from '../support/client.ts'
import { ACCOUNT, startService, temporaryDirectory } from '../support/service.ts'
import { connectUntilRefused } from '../support/slow-request.ts'
import { readStored } from './stored.ts'

/** More of them by hand: `SHUTDOWN_CYCLES=100`. */
const CYCLES = Number(process.env.SHUTDOWN_CYCLES ?? 5)

/** Clients that keep their connection, and clients that make one for each request. */
const [KEEPING, CONNECTING] = [24, 8]

const directory = temporaryDirectory()
after(directory.remove)

// Book 1, and a list that is longer than what the system takes for a client that halts.
before(async () => {
  const store = await openStore(parseDbUrl(`sqlite:${join(directory.path, 'books.db')}`), { timeout: 60_000 })
  const author = 'A'.repeat(50_000)
  await Promise.all(Array.from({ length: 200 }, (_, year) => store.create({ title: 'T', author, year })))
  await store.close()
})

for (let cycle = 1; cycle <= CYCLES; cycle++)
  it(`SIGTERM under load cuts no response, and leaves no request without one that was sent before it: ${cycle}`, () =>
    stopUnderLoad(cycle))

it('SIGTERM leaves no connection without a response that was made before it, although it is not accepted yet', async () => {
  const service = await startService(directory.path)
  service.process.kill('SIGSTOP')
  const agent = new Agent()
  const sending = Array.from({ length: 20 }, () => send(service.url, agent, 'GET /nowhere', '', ''))
  // The system has accepted them, and what they send.
  await setTimeout(200)
  const stopping = service.stop()
  service.process.kill('SIGCONT')
  for (const { status } of await Promise.all(sending)) assert.equal(status, 404)
  assert.deepEqual(await stopping, { code: 0, signal: null })
})

async function stopUnderLoad(cycle: number): Promise<void> {
  const service = await startService(directory.path)
  const authorization = await logIn(service.url)
  const faults: string[] = []
  const unanswered: string[] = []
  let answered = 0
  let signalledAt = Number.POSITIVE_INFINITY
  let isOver = false
  /** When clients that halt in the middle go on: when no connection is accepted any more. */
  const later = Promise.withResolvers<void>()

  /** @param isOwed whether the service owes a response to what the system had taken by then. */
  async function ask(
    [line, title]: readonly [line: string, title: string],
    agent: Agent,
    isOwed: (sentAt: number) => boolean,
    halt?: Promise<void>,
  ) {
    const body = bodyOf(line, title)
    const { status, isWhole, sentAt, bytes } = await send(service.url, agent, line, authorization, body, halt)
    if (isWhole) {
      answered++
      if (status !== 503 && status >= 400) faults.push(`${line} (${title}): ${status}`)
      return
    }
    if (bytes > 0) faults.push(`${line} (${title}): cut after ${bytes} bytes of its response`)
    else if (isOwed(sentAt)) faults.push(`${line} (${title}): no response`)
    if (line === 'POST /book') unanswered.push(title)
    await setTimeout(5)
  }
  const client = async (name: string, agent: Agent, isOwed: (sentAt: number) => boolean) => {
    for (let i = 0; !isOver; i++) await ask([pick(), `cycle ${cycle} ${name} request ${i}`], agent, isOwed)
    agent.destroy()
  }
  const clients = [
    ...Array.from({ length: KEEPING }, (_, i) =>
      // What was sent before the signal is there for the service to read; later the connection may be closing.
      client(`keeping ${i}`, new Agent({ keepAlive: true, maxSockets: 1 }), (sentAt) => sentAt < signalledAt),
    ),
    // On a busy machine, a new connection may not have been accepted yet.
    ...Array.from({ length: CONNECTING }, (_, i) => client(`connecting ${i}`, new Agent(), () => false)),
    ask(['POST /book', `cycle ${cycle} halting`], new Agent(), () => true, later.promise),
    ask(['GET /books', `cycle ${cycle} halting`], new Agent(), () => true, later.promise),
  ]
  const enough = 200 + 400 * Math.random()
  while (answered < enough) await setTimeout(1)
  signalledAt = performance.now()
  const stopping = service.stop()
  await connectUntilRefused(service.url).catch(() => later.resolve())
  assert.deepEqual(await stopping, { code: 0, signal: null })
  isOver = true
  await Promise.all(clients)
  const stored = new Set(readStored(join(directory.path, 'books.db')).rows.map(({ title }) => title))
  for (const title of unanswered) if (stored.has(title)) faults.push(`${title}: stored, and not answered`)
  assert.deepEqual(faults, [])
}

function pick(): string {
  const chance = Math.random()
  if (chance < 0.6) return 'POST /book'
  // Each takes as long as a hundred of the others.
  if (chance < 0.605) return 'GET /books'
  return chance < 0.7 ? 'POST /token' : 'GET /book/1'
}

function bodyOf(line: string, title: string): string {
  if (line === 'POST /token') return JSON.stringify(ACCOUNT)
  return line === 'POST /book' ? JSON.stringify({ title, author: 'A'.repeat(500), year: 1 }) : ''
}

/** @param halt what to wait for in the middle of the body, or before the response is read. */
async function send(
  url: string,
  agent: Agent,
  line: string,
  authorization: string,
  body: string,
  halt?: Promise<void>,
) {
  const [method, path] = line.split(' ') as [string, string]
  const headers = { authorization, ...(body !== '' && { 'content-length': Buffer.byteLength(body) }) }
  const asked = request(url + path, { agent, method, headers })
  let before = 0
  let sentAt = Number.POSITIVE_INFINITY
  asked.once('socket', (socket) => {
    before = socket.bytesRead
  })
  asked.once('finish', () => {
    sentAt = performance.now()
  })
  const answered = once(asked, 'response').then(
    async ([response]: IncomingMessage[]) => {
      const closed = new Promise((resolve) => response?.once('error', () => {}).once('close', resolve))
      if (body === '') await halt
      response?.resume()
      await closed
      return response
    },
    () => undefined,
  )
  if (body !== '' && halt !== undefined) {
    asked.write(body.slice(0, -1))
    await halt
    asked.end(body.slice(-1))
  } else asked.end(body)
  const response = await answered
  return {
    status: response?.statusCode ?? 0,
    isWhole: response?.complete === true,
    /** When the system had taken all of the request; infinite if it never did. */
    sentAt,
    bytes: (asked.socket?.bytesRead ?? 0) - before,
  }
}
