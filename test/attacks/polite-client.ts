import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Engine, useDatabases } from '../support/engines.ts'
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

/**
 * The most processor time that the service takes during a request of a polite client, for 99 of 100 requests of each
 * kind, whoever it works for meanwhile; and during the attack. In milliseconds.
 */
type Bounds = Partial<Record<Kind | 'attack', number>>

/** Settings of a service on a new database of an engine. To be called in a `describe`. */
export function useDatabase(engine: Engine): () => Promise<Record<string, string>> {
  if (engine === 'sqlite') return async () => ({})
  const databases = useDatabases(engine)
  return async () => ({ DB_URL: await (await databases()).createDatabase() })
}

/**
 * The processor time that all threads of a process have had so far, in milliseconds. How much of it passes while a
 * client waits does not depend on what else the machine does.
 */
function processTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return 10 * (Number(fields[11]) + Number(fields[12]))
}

/** Runs an attack beside a polite client, and sees that neither this one nor the memory suffers. Book 1 has to exist. */
export async function withstand<Result>(
  t: TestContext,
  service: ServiceInUse,
  bounds: Bounds,
  attack: () => Promise<Result>,
): Promise<Result> {
  const end = new AbortController()
  const begin = processTime(service.pid)
  const client = bePolite(service, end.signal)
  const result = await attack().finally(() => end.abort())
  const times = { ...(await client), attack: [processTime(service.pid) - begin] }
  const memory = Math.round(service.memory('VmHWM') / 1e6)
  t.diagnostic(`${memory} MB at most`)
  assert.ok(memory < MOST_MEMORY / 1e6, `the memory is ${memory} MB`)
  for (const [kind, bound] of Object.entries(bounds) as [keyof typeof times, number][]) {
    const sorted = times[kind].toSorted((a, b) => a - b)
    const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0
    t.diagnostic(`${kind}: ${p99} ms of the processor`)
    assert.ok(p99 < bound, `${kind}: ${p99} ms`)
  }
  return result
}

/** Reads, writes, queries, and asks how the service is, one after the other, again and again. */
async function bePolite({ url, token, pid }: ServiceInUse, signal: AbortSignal) {
  const times: Record<Kind, number[]> = { read: [], write: [], query: [], health: [] }
  while (times.health.length === 0 || !signal.aborted) {
    for (const [kind, [method, path]] of Object.entries(LINES) as [Kind, (typeof LINES)[Kind]][]) {
      const before = processTime(pid)
      const body = method === 'PUT' ? '{"year":2}' : null
      const patience = AbortSignal.timeout(PATIENCE)
      const options = { method, body, headers: { authorization: token }, signal: patience }
      for (;;) {
        const response = await fetch(url + path, options)
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
