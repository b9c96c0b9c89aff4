import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { type EngineInUse, startEngine } from './differential/engine.ts'
import { type Request, sequence } from './differential/requests.ts'

/** Sequences in all. */
const RUNS = Number(process.env.DIFFERENTIAL_RUNS ?? 100)

/** Where ids go on from, so that they pass powers of two, and come near the highest that there may be. */
const FIRST_IDS = [1000, 2 ** 31 - 20, 2 ** 32 - 20, 2 ** 53 - 2 ** 20]

/** For the sequences that begin at one id and, after a failure, for making one smaller; in milliseconds. */
const TIME = 60_000 + RUNS * 500

const present = ENGINES.filter((engine) => engineMissing(engine) === false)
const nothingToCompare =
  present.length < 2 && `there is only ${present.join()}, which nothing can be compared with`

for (const engine of ENGINES.filter((engine) => !present.includes(engine))) {
  it(`${engine} answers as the others do`, { skip: engineMissing(engine) }, () => {})
}

describe(`${present.join(', ')} answer alike`, { skip: nothingToCompare }, () => {
  const stack = new AsyncDisposableStack()
  const engines: EngineInUse[] = []
  // Before useDatabases, because what is registered first is done first.
  after(() => stack.disposeAsync())
  const databases = { postgres: useDatabases('postgres'), mysql: useDatabases('mysql') }

  before(async () => {
    for (const name of present) {
      const server = name === 'sqlite' ? undefined : await databases[name]()
      engines.push(await startEngine(name, stack, server))
    }
  })

  for (const firstId of FIRST_IDS) {
    const numRuns = Math.ceil(RUNS / FIRST_IDS.length)
    it(`whatever is sent to them (${numRuns} sequences, ids from ${firstId})`, {
      timeout: TIME,
    }, async () => {
      for (const engine of engines) await engine.setNextId(firstId)
      await fc.assert(fc.asyncProperty(sequence, run), {
        numRuns,
        interruptAfterTimeLimit: TIME,
        markInterruptAsFailure: true,
      })
    })
  }

  async function run(groups: readonly (readonly Request[])[]): Promise<void> {
    await Promise.all(engines.map((engine) => engine.reset()))
    let created = 0
    for (const group of groups) {
      const requests = ofDifferentBooks(group, created)
      await compareResponses(requests)
      created += requests.filter(({ kind }) => kind === 'create').length
    }
    const reads = Array.from(
      { length: created },
      (_, target) => ({ kind: 'book', method: 'GET', target }) as const,
    )
    await compareResponses([...reads, { kind: 'query', path: '/books', isTampered: false }])
  }

  async function compareResponses(requests: readonly Request[]): Promise<void> {
    // All have ended when one has failed, so that they do not disturb what comes next.
    const settled = await Promise.allSettled(
      engines.map((engine) => Promise.all(requests.map((request) => engine.make(request)))),
    )
    const [first, ...others] = settled.map((each) => {
      if (each.status === 'rejected') throw each.reason
      return each.value
    })
    for (const [i, answers] of others.entries())
      for (const [j, answer] of answers.entries()) {
        if (isDeepStrictEqual(answer, first?.[j])) continue
        const request = JSON.stringify(requests[j]).slice(0, 300)
        const message = `${engines[i + 1]?.name} and ${engines[0]?.name} answer differently: ${request}`
        assert.deepEqual(answer, first?.[j], message)
      }
  }
})

/**
 * Leaves out what names a book a second time, so that no response depends on the order, and beside a list whatever would
 * change it.
 */
function ofDifferentBooks(group: readonly Request[], created: number): Request[] {
  const hasList = group.some(({ kind }) => kind === 'query')
  const taken = new Set<number>()
  return group.flatMap((request): Request[] => {
    if (request.kind !== 'book') return [request]
    if (hasList && group.length > 1 && ['PUT', 'DELETE'].includes(request.method)) return []
    if (typeof request.target === 'string') return [request]
    // One of them was never created.
    const target = request.target % (created + 1)
    if (taken.has(target)) return []
    taken.add(target)
    return [{ ...request, target }]
  })
}
