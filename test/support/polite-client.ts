import { setTimeout } from 'node:timers/promises'
import { processTime } from './cpu-time.ts'

/** How long a response may take before the request counts as failed, with all that is tried again; milliseconds. */
const PATIENCE = 60_000

/** How long the client rests after each request, in milliseconds. */
const REST = 20

const LINES = {
  read: ['GET', '/book/1'],
  page: ['GET', '/books?limit=20'],
  write: ['PUT', '/book/1'],
  query: ['GET', '/books?limit=1&q=polite'],
  health: ['GET', '/healthz'],
} as const

export type Kind = keyof typeof LINES

export const KINDS = Object.keys(LINES) as Kind[]

/**
 * What a polite client has seen: how many milliseconds of processor time the service took during each request of each
 * kind, whoever it worked for, and what else than 200 was answered.
 */
export class PoliteReport {
  readonly times: Record<Kind, number[]> = { read: [], page: [], write: [], query: [], health: [] }
  readonly failures: string[] = []
  /** How often a request was refused for now, and was tried again. */
  refusals = 0

  p99(kind: Kind): number {
    const sorted = this.times[kind].toSorted((a, b) => a - b)
    return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN
  }

  max(kind: Kind): number {
    return Math.max(...this.times[kind])
  }

  toString(): string {
    const parts = KINDS.map(
      (kind) =>
        `${kind} ${this.times[kind].length} p99 ${Math.round(this.p99(kind))} max ${Math.round(this.max(kind))} ms`,
    )
    return `${parts.join(', ')}; ${this.refusals} refused for now, ${this.failures.length} failures ${[...new Set(this.failures)].join(', ')}`
  }
}

/**
 * Reads, writes, queries, and asks how the service is, one after the other, until it is told to stop. Book 1 has to exist.
 * What is answered with 503 is repeated when Retry-After says, and fails only if that takes too long.
 * @param pid of the service.
 * @param rounds at least, however slow the machine is.
 */
export async function bePolite(
  url: string,
  token: string,
  signal: AbortSignal,
  pid = 0,
  rounds = 0,
): Promise<PoliteReport> {
  const report = new PoliteReport()
  while (!signal.aborted || report.times.read.length < rounds) {
    for (const [kind, [method, path]] of Object.entries(LINES) as [Kind, (typeof LINES)[Kind]][]) {
      const before = processTime(pid)
      const body = method === 'PUT' ? '{"year":2}' : null
      try {
        const options = {
          method,
          body,
          headers: { authorization: token },
          signal: AbortSignal.timeout(PATIENCE),
        }
        let response = await fetch(url + path, options)
        await response.arrayBuffer()
        while (response.status === 503) {
          report.refusals++
          await setTimeout(1000 * Number(response.headers.get('retry-after')))
          response = await fetch(url + path, options)
          await response.arrayBuffer()
        }
        if (response.status !== 200) report.failures.push(`${kind} ${response.status}`)
      } catch (error) {
        report.failures.push(`${kind} ${(error as Error).name}`)
      }
      report.times[kind].push(processTime(pid) - before)
      await setTimeout(REST)
    }
  }
  return report
}
