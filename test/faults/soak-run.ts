import { Agent } from 'node:http'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { logIn } from '../support/client.ts'
import { ACCOUNT, type Service, temporaryDirectory } from '../support/service.ts'
import { ask, openFiles, percentile, residentMemory, rise } from './measure.ts'
import { readCount } from './options.ts'
import { whileRunning } from './running.ts'

const USAGE = `Puts the service under mixed load and watches whether its memory, its open files or its latency grow.

npm run test:soak -- [--minutes N]      (20 by default)
`

/** Requests a second in all, and the clients that send them. */
const [RATE, CLIENTS] = [200, 20]

/** Books that each client keeps, so that the list stays as long as it is. */
const BOOKS = 20

/** Samples in a run, and how many of them the service has to warm up. */
const [SAMPLES, WARMING] = [60, 20]

/** What each figure may rise by after that, as a line through it says. */
const BOUNDS = { memory: 24, files: 5, p99: 100 }

/** How long a token is used, in milliseconds; it is valid for 15 minutes. */
const TOKEN_TIME = 5 * 60_000

const minutes = readCount(USAGE, 'minutes', 20)
const faults: string[] = []
const times: number[] = []
const statuses = new Map<number, number>()
let isOver = false

const directory = temporaryDirectory()
await whileRunning(directory.path, [], soak)
directory.remove()
if (faults.length > 0) {
  process.stdout.write(`${faults.slice(0, 20).join('\n')}\n`)
  process.exitCode = 1
}

async function soak(service: Service): Promise<void> {
  const pid = service.process.pid ?? 0
  const series = { memory: [] as number[], files: [] as number[], p99: [] as number[] }
  const clients = Array.from({ length: CLIENTS }, () => client(service.url))
  for (let sample = 0; sample < SAMPLES && service.process.exitCode === null; sample++) {
    await setTimeout((minutes * 60_000) / SAMPLES)
    series.memory.push(residentMemory(pid))
    series.files.push(openFiles(pid))
    series.p99.push(percentile(times.splice(0), 0.99))
    const now = Object.entries(series).map(([name, values]) => `${name} ${values.at(-1)?.toFixed(1)}`)
    process.stdout.write(`${sample + 1}/${SAMPLES}: ${now.join(', ')}\n`)
  }
  isOver = true
  await Promise.all(clients)
  process.stdout.write(`answers by status: ${JSON.stringify(Object.fromEntries(statuses))}\n`)
  for (const [name, bound] of Object.entries(BOUNDS) as [keyof typeof BOUNDS, number][]) {
    const growth = rise(series[name].slice(WARMING))
    const text = `${name}: rose by ${growth.toFixed(1)} after warming up; bound ${bound}`
    process.stdout.write(`${text}\n`)
    if (!(growth <= bound)) faults.push(text)
  }
  const end = await service.stop()
  if (end.code !== 0) faults.push(`the service ended with ${JSON.stringify(end)}`)
}

async function client(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ids: number[] = []
  let token = ''
  let renewed = Number.NEGATIVE_INFINITY
  const expect = async (line: string, status: number, body?: string, authorization = token) => {
    const answer = await ask(url, agent, line, authorization, body)
    times.push(answer.ms)
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    const isBusy = answer.status === 503 && answer.retryAfter !== undefined
    if (answer.status !== status && !isBusy) faults.push(`${line}: ${answer.status} instead of ${status}`)
    return answer
  }
  while (!isOver) {
    const begin = performance.now()
    if (begin > renewed + TOKEN_TIME) {
      token = await logIn(url)
      renewed = begin
    }
    const id = ids[Math.floor(Math.random() * ids.length)]
    const chance = Math.random()
    if (ids.length < BOOKS || chance < 0.15) {
      const book = JSON.stringify({ title: 'T'.repeat(1 + 2000 * Math.random()), author: 'A', year: 1 })
      const { status, body } = await expect('POST /book', 201, book)
      if (status === 201) ids.push(JSON.parse(body).data.id)
      const oldest = ids.length > BOOKS ? ids.shift() : undefined
      if (oldest !== undefined) await expect(`DELETE /book/${oldest}`, 200)
    } else if (chance < 0.3) await expect(`PUT /book/${id}`, 200, `{"year":${Math.floor(1e6 * chance)}}`)
    else if (chance < 0.7) await expect(`GET /book/${id}`, 200)
    else if (chance < 0.75) await expect('GET /books', 200)
    else if (chance < 0.8) await expect('GET /readyz', 200)
    else if (chance < 0.83) await expect('POST /token', 200, JSON.stringify(ACCOUNT))
    else if (chance < 0.86)
      await expect('GET /book/1', 401, undefined, `${token.slice(0, -4)}${Math.random()}`)
    else if (chance < 0.89) await expect('POST /book', 400, '{"title":')
    else if (chance < 0.92) await expect(`GET /nowhere/${Math.random()}`, 404)
    else if (chance < 0.94) await expect('POST /book', 413, 'x'.repeat(1_100_000))
    else if (chance < 0.97)
      await leave(url, `GET /books HTTP/1.1\r\nHost: a\r\nAuthorization: ${token}\r\n\r\n`)
    else await leave(url, 'no HTTP at all\r\n\r\n')
    await setTimeout(Math.max(0, begin + (1000 * CLIENTS) / RATE - performance.now()))
  }
  agent.destroy()
}

/** Sends bytes on a connection of their own, and cuts it a moment later, whatever comes. */
async function leave(url: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  socket.write(bytes)
  await setTimeout(10 * Math.random())
  socket.resetAndDestroy()
}
