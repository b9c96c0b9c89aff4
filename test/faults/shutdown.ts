import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import { logIn } from '../support/client.ts'
import { ACCOUNT, type Service } from '../support/service.ts'
import { whileRunning } from './running.ts'

/** Clients that keep their connection, and clients that make one for each request. */
const [KEEPING, CONNECTING] = [24, 8]

/** A client that halts in the middle goes on so long after the signal, in milliseconds. */
const HALT = 300

/** A service that does not stop within this time hangs; milliseconds. */
const LIMIT = 60_000

/** What became of a request. */
interface Outcome {
  /** Undefined if no head of a response came. */
  readonly status?: number
  readonly isWhole: boolean
  /** When the system had taken all of the request; undefined if it never did. */
  readonly sentAt: number | undefined
  /** Bytes that came in answer. */
  readonly bytes: number
}

/** What the cycles were, and what was wrong. */
export class ShutdownReport {
  readonly figures = { cycles: 0, answered: 0, afterSignal: 0, refused: 0, longestStop: 0 }
  readonly faults: string[] = []
}

/** Stores what is read and changed: book 1, and a list that is longer than what the system takes for a client that halts. */
export async function prepare(directory: string): Promise<void> {
  const store = await openStore(parseDbUrl(`sqlite:${join(directory, 'books.db')}`), { timeout: 60_000 })
  const author = 'A'.repeat(50_000)
  await Promise.all(Array.from({ length: 200 }, (_, year) => store.create({ title: 'T', author, year })))
  await store.close()
}

/** Starts the service in the directory, stops it with SIGTERM under load, and checks what became of every request. */
export async function shutdownCycle(directory: string, report: ShutdownReport): Promise<void> {
  await whileRunning(directory, [], (service) => stopUnderLoad(service, directory, report))
}

async function stopUnderLoad(service: Service, directory: string, report: ShutdownReport): Promise<void> {
  const { figures, faults } = report
  const authorization = await logIn(service.url)
  const cycle = ++figures.cycles
  const unanswered: string[] = []
  let signalledAt = Number.POSITIVE_INFINITY
  let isOver = false

  const judge = ({ status, isWhole, sentAt, bytes }: Outcome, what: string, title?: string) => {
    if (isWhole) {
      figures.answered++
      if ((sentAt ?? 0) > signalledAt) figures.afterSignal++
      if (status !== 503 && (status ?? 0) >= 400) faults.push(`${what}: ${status}`)
    } else {
      if (bytes > 0) faults.push(`${what}: cut after ${bytes} bytes of its response`)
      // What was sent before the signal is there for the service to read; later the connection may be closing.
      else if (sentAt !== undefined && sentAt < signalledAt) faults.push(`${what}: no response`)
      else figures.refused++
      if (title !== undefined) unanswered.push(title)
    }
  }

  const client = async (name: string, agent: Agent) => {
    for (let i = 0; !isOver; i++) {
      const title = `cycle ${cycle} ${name} request ${i}`
      const [line, body] = pick(title)
      const outcome = await send(service.url, agent, line, authorization, body)
      judge(outcome, `${line} (${title})`, line === 'POST /book' ? title : undefined)
      if (outcome.status === undefined) await setTimeout(5)
    }
    agent.destroy()
  }
  const halting = async (line: string, title: string) => {
    const { url } = service
    const halt = async () => {
      while (signalledAt === Number.POSITIVE_INFINITY) await setTimeout(10)
      await setTimeout(HALT)
    }
    const outcome = await send(
      url,
      new Agent(),
      line,
      authorization,
      line === 'POST /book' ? book(title) : undefined,
      halt,
    )
    judge({ ...outcome, sentAt: 0 }, `${line}, halting (${title})`)
  }

  const clients = [
    ...Array.from({ length: KEEPING }, (_, i) =>
      client(`keeping ${i}`, new Agent({ keepAlive: true, maxSockets: 1 })),
    ),
    ...Array.from({ length: CONNECTING }, (_, i) => client(`connecting ${i}`, new Agent())),
    halting('POST /book', `cycle ${cycle} halting`),
    halting('GET /books', `cycle ${cycle}`),
  ]
  await setTimeout(300 + 300 * Math.random())
  signalledAt = performance.now()
  const end = await Promise.race([service.stop(), setTimeout(LIMIT, undefined, { ref: false })])
  const took = Math.round(performance.now() - signalledAt)
  figures.longestStop = Math.max(figures.longestStop, took)
  isOver = true
  await Promise.all(clients)
  if (end?.code !== 0) faults.push(`cycle ${cycle}: the service ended with ${JSON.stringify(end)}`)
  const stored = titlesIn(join(directory, 'books.db'))
  for (const title of unanswered) if (stored.has(title)) faults.push(`${title}: stored, and not answered`)
}

const book = (title: string) => JSON.stringify({ title, author: 'A'.repeat(500), year: 1 })

function pick(title: string): [line: string, body?: string] {
  const chance = Math.random()
  if (chance < 0.4) return ['POST /book', book(title)]
  if (chance < 0.6) return ['PUT /book/1', '{"year":2}']
  if (chance < 0.605) return ['GET /books']
  if (chance < 0.7) return ['POST /token', JSON.stringify(ACCOUNT)]
  return ['GET /book/1']
}

/** @param halt what to wait for in the middle of the body, or before the response is read. */
async function send(
  url: string,
  agent: Agent,
  line: string,
  authorization: string,
  body = '',
  halt?: () => Promise<void>,
): Promise<Outcome> {
  const [method, path] = line.split(' ') as [string, string]
  const length = Buffer.byteLength(body)
  const headers = { authorization, ...(length > 0 && { 'content-length': length }) }
  const asked = request(url + path, { agent, method, headers })
  let before = 0
  asked.once('socket', (socket) => {
    before = socket.bytesRead
  })
  let sentAt: number | undefined
  asked.once('finish', () => {
    sentAt = performance.now()
  })
  const answered = responseTo(asked, body === '' ? halt : undefined)
  if (body !== '' && halt !== undefined) {
    asked.write(body.slice(0, -1))
    await halt()
    asked.end(body.slice(-1))
  } else asked.end(body)
  const response = await answered
  return {
    ...(response?.statusCode !== undefined && { status: response.statusCode }),
    isWhole: response?.complete === true,
    sentAt,
    bytes: (asked.socket?.bytesRead ?? 0) - before,
  }
}

function responseTo(asked: ClientRequest, halt?: () => Promise<void>): Promise<IncomingMessage | undefined> {
  return new Promise((resolve) => {
    asked.once('error', () => resolve(undefined))
    asked.once('response', async (response) => {
      response.once('error', () => {}).once('close', () => resolve(response))
      await halt?.()
      response.resume()
    })
  })
}

function titlesIn(path: string): Set<unknown> {
  const database = new DatabaseSync(path)
  const rows = database.prepare('SELECT title FROM books').all()
  database.close()
  return new Set(rows.map(({ title }) => title))
}
