import { Agent } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { logIn } from '../support/client.ts'
import { type Service, temporaryDirectory } from '../support/service.ts'
import { ask, percentile, residentMemory } from './measure.ts'
import { readCount } from './options.ts'
import { whileRunning } from './running.ts'

const USAGE = `Uses 1,000 connections at the same time and reports the latency and the memory.
Each of the two processes needs that many files: \`ulimit -Hn\` has to be 2,000 or more.

npm run test:many-connections -- [--seconds N]      (60 by default)
`

const CONNECTIONS = 1000

/** How long each connection rests between two requests, at most, in milliseconds. */
const REST = 2000

const seconds = readCount(USAGE, 'seconds', 60)
const times: number[] = []
const statuses = new Map<number, number>()
const faults: string[] = []

const directory = temporaryDirectory()
await whileRunning(directory.path, [], use)
directory.remove()
if (faults.length > 0) {
  process.stdout.write(`${faults.slice(0, 20).join('\n')}\n`)
  process.exitCode = 1
}

async function use(service: Service): Promise<void> {
  const authorization = await logIn(service.url)
  const pid = service.process.pid ?? 0
  const before = residentMemory(pid)
  let peak = before
  const end = performance.now() + seconds * 1000

  const client = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (performance.now() < end && service.process.exitCode === null) {
      const [line, body] = pick()
      const { status, retryAfter, ms } = await ask(service.url, agent, line, authorization, body)
      times.push(ms)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      const isBusy = status === 503 && retryAfter !== undefined
      if ((status === 0 || status >= 500) && !isBusy) faults.push(`${line}: ${status || 'no answer'}`)
      await setTimeout(REST * Math.random())
    }
    agent.destroy()
  }
  const watch = setInterval(() => {
    peak = Math.max(peak, residentMemory(pid))
  }, 100)
  await Promise.all(Array.from({ length: CONNECTIONS }, client))
  clearInterval(watch)
  const figures = {
    connections: CONNECTIONS,
    seconds,
    requests: times.length,
    statuses: Object.fromEntries(statuses),
    p50: percentile(times, 0.5).toFixed(1),
    p99: percentile(times, 0.99).toFixed(1),
    memoryBefore: Math.round(before),
    memoryPeak: Math.round(peak),
  }
  process.stdout.write(`${JSON.stringify(figures)} (milliseconds, MiB)\n`)
  const stopped = await service.stop()
  if (stopped.code !== 0) faults.push(`the service ended with ${JSON.stringify(stopped)}`)
}

function pick(): [line: string, body?: string] {
  const chance = Math.random()
  if (chance < 0.2) return ['POST /book', '{"title":"T","author":"A","year":1}']
  if (chance < 0.4) return ['PUT /book/1', '{"year":2}']
  if (chance < 0.41) return ['GET /books']
  return ['GET /book/1']
}
