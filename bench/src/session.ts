import { setTimeout } from 'node:timers/promises'
import { checkAnswers, createOne } from './check-answers.ts'
import { generate } from './load/generate.ts'
import type { Job, Load } from './load/job.ts'
import type { Options } from './options.ts'
import type { Cell, SessionPlan } from './plan.ts'
import { cpuTime, memory } from './proc.ts'
import type { Results, Run } from './results.ts'
import { type Running, start } from './running.ts'
import { type BookStore, newStore, type Servers } from './stores.ts'

/** How long a contender is left alone before its idle memory is read, in milliseconds. */
const IDLE_TIME = 1000

/** CPU time below which it has nothing to do for so long, in seconds; and how long it may take until then, in milliseconds. */
const IDLE_CPU = 0.05
const LONGEST_PREPARATION = 120_000

/** Lists larger than this are not compared book by book before they are measured. */
const LARGEST_CHECKED = 10_000

/** How long a new process is kept busy before the first measurement, in seconds. */
const COMPILE_TIME = 1

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
    await untilIdle(running.pid)
    const idleMemory = memory(running.pid, 'VmRSS')
    if (books <= LARGEST_CHECKED) await checkAnswers(contender, running.port, books)
    await warmUp(plan, options, running, store)
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

/** Waits while the process works by itself, as at an index of the books that were filled in. */
async function untilIdle(pid: number): Promise<void> {
  const deadline = Date.now() + LONGEST_PREPARATION
  for (;;) {
    const before = cpuTime(pid)
    await setTimeout(IDLE_TIME)
    if (cpuTime(pid) - before < IDLE_CPU || Date.now() > deadline) return
  }
}

/** Lets the process compile what it is going to run; each measurement then has a short warm-up of its own. */
async function warmUp(
  plan: SessionPlan,
  options: Options,
  running: Running,
  store: BookStore,
): Promise<void> {
  const { contender, purpose, cells } = plan
  const canWrite = purpose !== 'list' && contender.does !== 'reads without token'
  const workload = canWrite ? 'mix' : cells[0]?.workload
  if (workload === undefined) return
  const job = jobOf(plan, { workload, connections: 8 }, options, running, store)
  await generate({ ...job, warmUp: 0, seconds: COMPILE_TIME })
}

function jobOf(
  { books, purpose }: SessionPlan,
  { workload, connections }: Cell,
  { seconds, warmUp }: Options,
  { port, pid }: Running,
  { serverPid }: BookStore,
): Job {
  return {
    workload,
    port,
    connections,
    books,
    warmUp,
    seconds,
    // Of answers that take long there are few, and each connection should have had one.
    answers: purpose === 'growth' && workload === 'list' ? 1 : connections,
    server: pid,
    database: serverPid,
  }
}

async function measureCell(
  plan: SessionPlan,
  cell: Cell,
  options: Options,
  running: Running,
  store: BookStore,
): Promise<Load> {
  const job = jobOf(plan, cell, options, running, store)
  const { contender } = plan
  const { port, workload, connections, warmUp, seconds } = job
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
