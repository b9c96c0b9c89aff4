import { setTimeout } from 'node:timers/promises'
import { checkAnswers, createOne } from './check-answers.ts'
import { generate } from './load/generate.ts'
import type { Job, Load } from './load/job.ts'
import type { Options } from './options.ts'
import type { Cell, SessionPlan } from './plan.ts'
import { memory } from './proc.ts'
import type { Results, Run } from './results.ts'
import { type Running, start } from './running.ts'
import { type BookStore, newStore, type Servers } from './stores.ts'

/** How long a contender is left alone before its idle memory is read, in milliseconds. */
const IDLE_TIME = 1000

/** Lists larger than this are not compared book by book before they are measured. */
const LARGEST_CHECKED = 10_000

/** To have enough to delete, books are created for so many times as long, by so many clients at least. */
const SUPPLY = 1.5
const SUPPLIERS = 64

/** Starts a contender on a filled catalogue, checks its answers, and measures all cells of the plan. */
export async function runSession(
  plan: SessionPlan,
  options: Options,
  servers: Servers,
  directory: string,
  results: Results,
): Promise<void> {
  const { contender, round, purpose, books } = plan
  const about = { contender: contender.id, round, purpose, books }
  let store: BookStore | undefined
  let running: Running | undefined
  try {
    store = await newStore(contender, directory, books, servers)
    if (contender.store !== 'none') {
      await (await start(contender, store.database, true)).stop()
      await store.seed(books)
    }
    running = await start(contender, store.database, false)
    await setTimeout(IDLE_TIME)
    const idleMemory = memory(running.pid, 'VmRSS')
    if (books <= LARGEST_CHECKED) await checkAnswers(contender, running.port, books)
    for (const cell of plan.cells) {
      const load = await measureCell(plan, cell, options, running, store)
      results.runs.push({ ...about, ...cell, ...load, ...failureOf(load) })
    }
    const peakMemory = memory(running.pid, 'VmHWM')
    results.sessions.push({ ...about, startUp: running.startUp, idleMemory, peakMemory })
  } catch (error) {
    results.failed.push({ ...about, reason: (error as Error).message })
  } finally {
    await running?.stop()
    await store?.remove()
  }
}

async function measureCell(
  { contender, books, purpose }: SessionPlan,
  { workload, connections }: Cell,
  { seconds, warmUp }: Options,
  { port, pid }: Running,
  { serverPid }: BookStore,
): Promise<Load> {
  const job: Job = {
    workload,
    port,
    connections,
    books,
    warmUp,
    seconds,
    // Of answers that take long there are few, and each connection should have had one.
    answers: purpose === 'growth' ? 1 : connections,
    server: pid,
    database: serverPid,
  }
  if (workload !== 'delete') return generate(job)
  const first = (await createOne(port)) + 1
  const supply = {
    workload: 'post',
    connections: Math.max(connections, SUPPLIERS),
    warmUp: 0.1,
    seconds: SUPPLY * (warmUp + seconds),
  } as const
  const { allAnswers } = await generate({ ...job, ...supply })
  const last = first + allAnswers - 1
  const next = await createOne(port)
  // What keeps nothing has no ids of its own.
  if (contender.does !== 'nothing' && next !== last + 1) {
    throw new Error(`the ids of ${allAnswers} new books go from ${first} to ${next - 1}`)
  }
  return generate({ ...job, deletable: { first, last } })
}

/** A run with errors does not count. */
function failureOf({ errors, answers }: Load): Pick<Run, 'failure'> {
  const [reason, count] = Object.entries(errors)[0] ?? []
  if (reason !== undefined) return { failure: `${count} × ${reason}` }
  return answers === 0 ? { failure: 'no answer in time' } : {}
}
