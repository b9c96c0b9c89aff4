import timers from 'node:timers/promises'
import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { withTimeout } from '../timeout.ts'

/** The time between two attempts, in milliseconds. */
const PAUSE = 1000

/** Prepares a database again that was replaced by an empty one while the service runs. */
export class Preparation {
  readonly #prepare: () => Promise<unknown>
  readonly #isClosed: () => boolean
  #running: Promise<void> | undefined
  /** When the next attempt may begin. */
  #nextAt = 0
  #count = 0

  /**
   * @param prepare throws StoreNotOpened if the database must not be prepared. Any other error may pass.
   * @param isClosed whether the store is closed.
   */
  constructor(prepare: () => Promise<unknown>, isClosed: () => boolean) {
    this.#prepare = prepare
    this.#isClosed = isClosed
  }

  /** How often the database was prepared again. */
  get count(): number {
    return this.#count
  }

  /**
   * Waits until the database has its tables. All that miss one wait for the same attempt, or for the next one.
   * @param count how often the database had been prepared when the work began that missed a table.
   * @param end when the wait is over, as `Date.now()`.
   * @returns whether the database was prepared since; false if it must not be.
   * @throws StoreUnavailable at the end.
   */
  async wait(count: number, end: number): Promise<boolean> {
    while (this.#count === count) {
      this.#running ??= this.#prepareInTurn().finally(() => {
        this.#running = undefined
      })
      try {
        await withTimeout(this.#running, end - Date.now(), 'the database was not prepared in time')
      } catch (error) {
        if (error instanceof StoreNotOpened) return false
        if (Date.now() >= end || this.#isClosed()) throw tablesMissing(error)
      }
    }
    return true
  }

  async #prepareInTurn(): Promise<void> {
    const pause = this.#nextAt - Date.now()
    if (pause > 0) await timers.setTimeout(pause)
    if (this.#isClosed()) throw new Error('the store is closed')
    this.#nextAt = Date.now() + PAUSE
    try {
      await this.#prepare()
      this.#count++
    } catch (error) {
      // Who is refused is told so at once, and the database may be replaced a moment later.
      if (error instanceof StoreNotOpened) this.#nextAt = 0
      throw error
    }
  }
}

export function tablesMissing(cause: unknown): StoreUnavailable {
  const message = 'the tables are missing, and were not made in time'
  return new StoreUnavailable(message, { cause, reason: 'other', nothingWritten: true })
}
