import { StoreUnavailable } from '../../catalogue/store.ts'
import { storeError } from './errors.ts'
import type { GroupCommit, Write, WrittenBook } from './group-commit.ts'

interface Pending extends PromiseWithResolvers<WrittenBook | undefined> {
  readonly write: Write
}

/** Collects the writes of all clients. Those that arrive during a commit share the next one. */
export class CommitQueue {
  readonly #path: string
  readonly #commit: GroupCommit['commit']
  readonly #committed: (writes: number) => void
  #waiting: Pending[] = []
  #isScheduled = false
  /** The number of imports that are storing their books. Nothing is committed meanwhile. */
  #pauses = 0
  /** The error of the last write, if it failed for a reason other than a lock. */
  refusal: StoreUnavailable | undefined

  /** @param path of the database file, for messages. */
  constructor(path: string, commit: GroupCommit['commit'], committed: (writes: number) => void) {
    this.#path = path
    this.#commit = commit
    this.#committed = committed
  }

  /** @returns the stored or deleted book, once it is on the disk; undefined if there is none, or not as expected. */
  add(write: Write): Promise<WrittenBook | undefined> {
    const pending = { write, ...Promise.withResolvers<WrittenBook | undefined>() }
    this.#waiting.push(pending)
    this.#commitSoon()
    return pending.promise
  }

  /** Holds commits back until `resume`, so that an import can take the write lock without blocking this thread. */
  pause(): void {
    this.#pauses++
  }

  resume(): void {
    this.#pauses--
    this.#commitSoon()
  }

  /** Commits after the other writes of this turn of the event loop have arrived. */
  #commitSoon(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      if (this.#pauses === 0 && this.#waiting.length > 0) this.#commitAll(this.#waiting.splice(0))
    })
  }

  #commitAll(batch: readonly Pending[]): void {
    const outcomes = this.#commit(batch.map(({ write }) => write))
    for (const [i, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[i]
      if (outcome === undefined) reject(new Error('a write was left without an outcome'))
      else if ('error' in outcome) reject(this.#noted(storeError(outcome.error, this.#path)))
      else {
        this.refusal = undefined
        resolve(outcome.book)
      }
    }
    this.#committed(batch.length)
  }

  #noted(error: unknown): unknown {
    if (error instanceof StoreUnavailable && error.reason !== 'conflict') this.refusal = error
    return error
  }
}
