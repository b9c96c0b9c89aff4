import { setTimeout as pause } from 'node:timers/promises'
import type { BookIndex } from './sqlite-index.ts'

/**
 * The index is brought up to date when there was no write for so long, in milliseconds; with so many, writes have to
 * wait for it, so that a query never has to wait for more than a second or two.
 */
const DELAY = 200
const MAX_WRITES = 100_000

/**
 * Between two steps, in milliseconds: other processes try to get the write lock now and then only, and would hardly
 * ever meet the moment in which it is free.
 */
const PAUSE = 10

/** Decides when the index follows the writes: at once for a query, else when there is time. */
export class IndexUpkeep {
  readonly #index: BookIndex
  readonly #timer: NodeJS.Timeout
  /** Writes that the index may not have. */
  #writes = 0

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
    const { last } = this.#index
    while (this.#index.step().last < last) await pause(PAUSE)
  }

  stop(): void {
    clearTimeout(this.#timer)
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
