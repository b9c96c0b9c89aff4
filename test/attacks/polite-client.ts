import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { ServiceInUse } from '../support/use-service.ts'

/** The most memory that an attack may make the service take (docs/operations.md, Memory), in bytes. */
const MOST_MEMORY = 400e6

/** A request that takes longer, with all attempts after a 503, has failed; milliseconds. */
const PATIENCE = 60_000

const LINES = {
  read: ['GET', '/book/1'],
  write: ['PUT', '/book/1'],
  query: ['GET', '/books?limit=1&q=polite'],
  health: ['GET', '/healthz'],
} as const

type Kind = keyof typeof LINES

/** The most processor time that the service takes during a request of a polite client, in milliseconds. */
export type Bounds = Partial<Record<Kind, number>>

/**
 * The processor time that all threads of a process have had so far, in milliseconds; the time since this process began
 * where the system does not tell. How much of it passes while a client waits does not depend on what else the machine does.
 */
export function processTime(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return 10 * (Number(fields[11]) + Number(fields[12]))
  } catch {
    return performance.now()
  }
}

/**
 * Runs an attack beside a polite client, and sees that neither this one nor the memory suffers. Book 1 has to exist.
 * @param bounds for 99 of 100 requests of each kind, whoever the service works for meanwhile.
 */
export async function withstand<Result>(
  t: TestContext,
  service: ServiceInUse,
  bounds: Bounds,
  attack: () => Promise<Result>,
): Promise<Result> {
  const end = new AbortController()
  const client = bePolite(service, end.signal)
  const result = await attack().finally(() => end.abort())
  const times = await client
  const memory = Math.round(service.memory('VmHWM') / 1e6)
  const p99 = Object.fromEntries(Object.entries(times).map(([kind, of]) => [kind, percentile(of)]))
  t.diagnostic(`${memory} MB at most; milliseconds of the processor: ${JSON.stringify(p99)}`)
  assert.ok(memory < MOST_MEMORY / 1e6, `the memory is ${memory} MB`)
  for (const [kind, bound] of Object.entries(bounds))
    assert.ok((p99[kind] ?? 0) < bound, `${kind}: ${p99[kind]} ms`)
  return result
}

const percentile = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? 0

/** Reads, writes, queries, and asks how the service is, one after the other, again and again. */
async function bePolite({ url, token, pid }: ServiceInUse, signal: AbortSignal) {
  const times: Record<Kind, number[]> = { read: [], write: [], query: [], health: [] }
  while (times.health.length === 0 || !signal.aborted) {
    for (const [kind, [method, path]] of Object.entries(LINES) as [Kind, (typeof LINES)[Kind]][]) {
      const before = processTime(pid)
      const body = method === 'PUT' ? '{"year":2}' : null
      const patience = AbortSignal.timeout(PATIENCE)
      for (;;) {
        const response = await fetch(url + path, {
          method,
          body,
          headers: { authorization: token },
          signal: patience,
        })
        await response.arrayBuffer()
        if (response.status === 200) break
        assert.equal(response.status, 503, kind)
        await setTimeout(1000 * Number(response.headers.get('retry-after')), undefined, { signal: patience })
      }
      times[kind].push(processTime(pid) - before)
      await setTimeout(20)
    }
  }
  return times
}
