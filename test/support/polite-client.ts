import { setTimeout } from 'node:timers/promises'

/** How long an answer may take before the request counts as failed, in milliseconds. */
const PATIENCE = 10_000

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

/** What a polite client has seen: milliseconds of each kind of request, and what else than 200 was answered. */
export class PoliteReport {
  readonly times: Record<Kind, number[]> = { read: [], page: [], write: [], query: [], health: [] }
  readonly failures: string[] = []

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
    return `${parts.join(', ')}; ${this.failures.length} failures ${[...new Set(this.failures)].join(', ')}`
  }
}

/** Reads, writes, queries, and asks how the service is, one after the other, until it is told to stop. Book 1 has to exist. */
export async function bePolite(url: string, token: string, signal: AbortSignal): Promise<PoliteReport> {
  const report = new PoliteReport()
  while (!signal.aborted) {
    for (const [kind, [method, path]] of Object.entries(LINES) as [Kind, (typeof LINES)[Kind]][]) {
      const begun = performance.now()
      const body = method === 'PUT' ? '{"year":2}' : null
      try {
        const options = {
          method,
          body,
          headers: { authorization: token },
          signal: AbortSignal.timeout(PATIENCE),
        }
        const response = await fetch(url + path, options)
        await response.arrayBuffer()
        if (response.status !== 200) report.failures.push(`${kind} ${response.status}`)
      } catch (error) {
        report.failures.push(`${kind} ${(error as Error).name}`)
      }
      report.times[kind].push(performance.now() - begun)
      await setTimeout(REST)
    }
  }
  return report
}
