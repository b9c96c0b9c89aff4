import { setTimeout as pause } from 'node:timers/promises'
import type { BookIndex } from './search-index.ts'

/** The index begins to follow when there was no write for so long, in milliseconds. */
const DELAY = 200

/** Milliseconds of a step: the more, the more books share a page of the index; but writes that come then wait for it. */
const STEP = { asked: 50, unasked: 20 }

/**
 * With so many writes behind, further ones wait for the index: so that a query does not find it far behind, if
 * there was one in the last minute; else so that what it needs stays bounded.
 */
const MAX_WRITES = { asked: 5000, unasked: 1_000_000 }
const ASKED_TIME = 60_000

/**
 * Milliseconds between two steps, in which writes of this process are committed; and, after so many of work, for other
 * processes: SQLite tries to get their lock every 100 ms, and might never meet a shorter one.
 */
const PAUSE = 1
const [WORK, LONG_PAUSE] = [800, 150]

/** The last of the books that somebody waits for. */
interface Goal extends PromiseWithResolvers<void> {
  readonly last: number
}

/** Decides when the index follows the writes: at once for a query, else when there is time. */
export class IndexUpkeep {
  readonly #index: BookIndex
  readonly #timer: NodeJS.Timeout
  /** Writes that the index may not have. */
  #writes = 0
  /** Changes with every write. */
  #state = {}
  #askedAt = Number.NEGATIVE_INFINITY
  #goals: Goal[] = []

  constructor(index: BookIndex) {
    this.#index = index
    // Also without a write: an earlier run may have left something to do.
    this.#timer = setTimeout(() => this.#followWhileIdle(), DELAY)
  }

  /** To be called after each commit. */
  noteWrites(count: number): void {
    this.#writes += count
    this.#state = {}
    this.#timer.refresh()
    const wasAsked = Date.now() - this.#askedAt < ASKED_TIME
    if (this.#writes > (wasAsked ? MAX_WRITES.asked : MAX_WRITES.unasked)) this.#stepIfPossible(STEP.asked)
  }

  /**
   * Resolves when the index has all that was committed before the call; writes are committed meanwhile.
   * @throws what node:sqlite throws
   */
  async bringUpToDate(): Promise<void> {
    this.#askedAt = Date.now()
    const reached = Promise.withResolvers<void>()
    // They are reached in the order of the calls.
    const last = Math.max(this.#index.last, this.#goals.at(-1)?.last ?? 0)
    this.#goals.push({ last, ...reached })
    if (this.#goals.length === 1) this.#reachGoals()
    await reached.promise
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#state = {}
  }

  async #reachGoals(): Promise<void> {
    const rest = pauses()
    for (;;) {
      try {
        const { last } = this.#index.step(STEP.asked)
        for (const { resolve } of this.#goals.filter((goal) => goal.last <= last)) resolve()
        this.#goals = this.#goals.filter((goal) => goal.last > last)
      } catch (error) {
        for (const { reject } of this.#goals.splice(0)) reject(error)
      }
      if (this.#goals.length === 0) return
      await rest()
    }
  }

  /** Until something is written; then the timer begins anew. */
  async #followWhileIdle(): Promise<void> {
    const state = this.#state
    const rest = pauses()
    while (this.#stepIfPossible(STEP.unasked)) {
      await rest()
      if (this.#state !== state || this.#goals.length > 0) return
    }
  }

  /** @returns whether there is more to do. What fails fails again for the query that needs it, and is told then. */
  #stepIfPossible(time: number): boolean {
    try {
      const step = this.#index.step(time)
      const isDone = step.last === Number.POSITIVE_INFINITY
      this.#writes = isDone ? 0 : Math.max(0, this.#writes - step.books)
      return !isDone
    } catch {
      this.#writes = 0
      return false
    }
  }
}

/** @returns what pauses between two steps. */
function pauses(): () => Promise<void> {
  let restedAt = Date.now()
  return async () => {
    const isTired = Date.now() - restedAt > WORK
    await pause(isTired ? LONG_PAUSE : PAUSE)
    if (isTired) restedAt = Date.now()
  }
}
