import { setTimeout as pause } from 'node:timers/promises'
import type { BookIndex } from './sqlite-index.ts'

/**
 * The index is brought up to date when there was no write for so long, in milliseconds; with so many, writes have to
 * wait for it, so that a query never has to wait for more than a second or two.
 */
const DELAY = 200
const MAX_WRITES = 100_000

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
  #goals: Goal[] = []

  constructor(index: BookIndex) {
    this.#index = index
    // Also without a write: an earlier run may have left something to do.
    this.#timer = setTimeout(() => this.#whenIdle(), DELAY)
  }

  /** To be called after each commit. */
  noteWrites(count: number): void {
    this.#writes += count
    this.#timer.refresh()
    if (this.#writes > MAX_WRITES) this.#stepIfPossible()
  }

  /**
   * Resolves when the index has all that was committed before the call; writes are committed meanwhile.
   * @throws what node:sqlite throws
   */
  async bringUpToDate(): Promise<void> {
    const reached = Promise.withResolvers<void>()
    // They are reached in the order of the calls.
    const last = Math.max(this.#index.last, this.#goals.at(-1)?.last ?? 0)
    this.#goals.push({ last, ...reached })
    if (this.#goals.length === 1) this.#work()
    await reached.promise
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  async #work(): Promise<void> {
    let restedAt = Date.now()
    for (;;) {
      try {
        const { last } = this.#index.step()
        for (const { resolve } of this.#goals.filter((goal) => goal.last <= last)) resolve()
        this.#goals = this.#goals.filter((goal) => goal.last > last)
      } catch (error) {
        for (const { reject } of this.#goals.splice(0)) reject(error)
      }
      if (this.#goals.length === 0) return
      const isTired = Date.now() - restedAt > WORK
      await pause(isTired ? LONG_PAUSE : PAUSE)
      if (isTired) restedAt = Date.now()
    }
  }

  // What fails in these two fails again for the query that needs it, and is told then.

  #stepIfPossible(): void {
    try {
      this.#writes -= this.#index.step().books
    } catch {
      this.#writes = 0
    }
  }

  #whenIdle(): void {
    this.bringUpToDate().then(
      () => {
        this.#writes = 0
      },
      () => {},
    )
  }
}
