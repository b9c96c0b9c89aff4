import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { EngineInUse } from '../support/differential/engine.ts'
import { allOf, carryOut, type Plan, planReads, planStep } from '../support/differential/plan.ts'
import { startEngine } from '../support/differential/start-engine.ts'
import { type Step, sequence } from '../support/differential/steps.ts'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'

/** Sequences in all. */
const RUNS = Number(process.env.DIFFERENTIAL_RUNS ?? 100)

/** Where ids go on from, so that they pass powers of two, and come near the highest that there may be. */
const FIRST_IDS = [1000, 2 ** 31 - 20, 2 ** 32 - 20, 2 ** 53 - 2 ** 20]

/** For the sequences that begin at one id and, after a failure, for making one smaller; in milliseconds. */
const TIME = 60_000 + RUNS * 500

const LIST: Plan = { requests: [{ kind: 'list' }], compared: 'all' }

const present = ENGINES.filter((engine) => engineMissing(engine) === false)
const nothingToCompare =
  present.length < 2 && `there is only ${present.join()}, which nothing can be compared with`

for (const engine of ENGINES.filter((engine) => !present.includes(engine))) {
  it(`${engine} answers as the others do`, { skip: engineMissing(engine) }, () => {})
}

describe(`${present.join(', ')} answer alike`, { skip: nothingToCompare }, () => {
  const stack = new AsyncDisposableStack()
  let engines: readonly EngineInUse[] = []
  // Before useDatabases, because what is registered first is done first.
  after(() => stack.disposeAsync())
  const databases = { postgres: useDatabases('postgres'), mysql: useDatabases('mysql') }

  before(async () => {
    const starting = present.map((name) =>
      name === 'sqlite' ? startEngine(name, stack) : startEngine(name, stack, databases[name]),
    )
    engines = await allOf(starting)
  })

  for (const firstId of FIRST_IDS) {
    const numRuns = Math.ceil(RUNS / FIRST_IDS.length)
    it(`whatever is sent to them (${numRuns} sequences, ids from ${firstId})`, async () => {
      await allOf(engines.map((engine) => engine.setNextId(firstId)))
      await fc.assert(fc.asyncProperty(sequence, run), {
        numRuns,
        interruptAfterTimeLimit: TIME,
        markInterruptAsFailure: true,
      })
    })
  }

  async function run(steps: readonly Step[]): Promise<void> {
    await allOf(engines.map((engine) => engine.reset()))
    const mayHave = (id: number) => engines.some((engine) => engine.mayHave(id))
    let created = 0
    for (const step of steps) {
      const plan = planStep(step, created, mayHave)
      await compareResponses(plan)
      created += plan.requests.filter(({ kind }) => kind === 'create').length
    }
    await compareResponses(planReads(created))
    await compareResponses(LIST)
  }

  async function compareResponses(plan: Plan): Promise<void> {
    const [first, ...others] = await allOf(engines.map((engine) => carryOut(plan, engine)))
    for (const [i, answers] of others.entries()) {
      for (const [j, answer] of answers.entries()) {
        if (isDeepStrictEqual(answer, first?.[j])) continue
        const request = JSON.stringify(plan.requests[j]).slice(0, 300)
        const message = `${engines[i + 1]?.name} and ${engines[0]?.name} answer differently: ${request}`
        assert.deepEqual(answer, first?.[j], message)
      }
    }
    for (const engine of engines) engine.endStep()
  }
})
