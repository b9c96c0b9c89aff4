import { setTimeout as sleep } from 'node:timers/promises'
import type { SearchIndex } from './search-index.ts'

/** Milliseconds without a write after which the index begins to catch up. */
const DELAY = 200

/** Milliseconds of a step. In a longer one, more books share the write of an index page, but clients wait longer. */
const STEP = { asked: 50, unasked: 20 }

/**
 * When the index is more writes behind than this, each commit is followed by a step of indexing, and later writes wait.
 * For ASKED_TIME milliseconds after a query, this keeps the index close for the next one. Later, it bounds the backlog.
 */
const MAX_WRITES = { asked: 5000, unasked: 1_000_000 }
const ASKED_TIME = 60_000

/** Milliseconds between two steps, during which writes of this process are committed. */
const PAUSE = 1

/** Milliseconds of work after which there is a longer pause for other processes. */
const WORK_TIME = 800

/** Milliseconds of that pause. SQLite in a waiting process retries every 100 ms, and might miss all shorter pauses. */
const LONG_PAUSE = 150

/** A call that waits until the book with the id `last` is indexed. */
interface Goal extends PromiseWithResolvers<void> {
  readonly last: number
}

/** Decides when the index is updated: at once for a query, otherwise when there is time. */
export function scheduleIndex(index: SearchIndex) {
  /** The number of writes that the index may lack. */
  let lacked = 0
  /** Replaced with every write. */
  let state = {}
  let askedAt = Number.NEGATIVE_INFINITY
  let goals: Goal[] = []
  const timer = setTimeout(followWhileIdle, DELAY)
  // At once, even while others write: an earlier run or version may have left much work.
  catchUp().catch(() => {})

  async function catchUp(): Promise<void> {
    const reached = Promise.withResolvers<void>()
    // At least that of the goal before, so goals are reached in the order of the calls.
    const last = Math.max(index.last(), goals.at(-1)?.last ?? 0)
    goals.push({ last, ...reached })
    if (goals.length === 1) reachGoals()
    await reached.promise
  }

  async function reachGoals(): Promise<void> {
    const rest = pauses()
    for (;;) {
      try {
        const { last } = index.step(STEP.asked)
        for (const { resolve } of goals.filter((goal) => goal.last <= last)) resolve()
        goals = goals.filter((goal) => goal.last > last)
      } catch (error) {
        for (const { reject } of goals.splice(0)) reject(error)
      }
      if (goals.length === 0) return
      await rest()
    }
  }

  /** Stops at the next write, which restarts the timer. */
  async function followWhileIdle(): Promise<void> {
    const begun = state
    const rest = pauses()
    while (stepIfPossible(STEP.unasked)) {
      await rest()
      if (state !== begun || goals.length > 0) return
    }
  }

  /** @returns whether there is more to do. An error is ignored: it recurs, and is reported, for the next query. */
  function stepIfPossible(time: number): boolean {
    try {
      const { books, last } = index.step(time)
      const isDone = last === Number.POSITIVE_INFINITY
      lacked = isDone ? 0 : Math.max(0, lacked - books)
      return !isDone
    } catch {
      lacked = 0
      return false
    }
  }

  return {
    /** Call it after each commit. */
    noteWrites(count: number): void {
      lacked += count
      state = {}
      timer.refresh()
      const most = Date.now() - askedAt < ASKED_TIME ? MAX_WRITES.asked : MAX_WRITES.unasked
      if (lacked > most) stepIfPossible(STEP.asked)
    },

    /**
     * Resolves when the index has everything that was committed before the call. Writes go on meanwhile.
     * @throws the error of node:sqlite.
     */
    bringUpToDate(): Promise<void> {
      askedAt = Date.now()
      return catchUp()
    },

    stop(): void {
      clearTimeout(timer)
      state = {}
    },
  }
}

function pauses(): () => Promise<void> {
  let restedAt = Date.now()
  return async () => {
    const isLongPauseDue = Date.now() - restedAt > WORK_TIME
    await sleep(isLongPauseDue ? LONG_PAUSE : PAUSE)
    if (isLongPauseDue) restedAt = Date.now()
  }
}
