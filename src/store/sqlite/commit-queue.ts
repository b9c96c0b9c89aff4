import { StoreUnavailable } from '../../catalogue/store.ts'
import { storeError } from './errors.ts'
import type { GroupCommit, Write, WrittenBook } from './group-commit.ts'

interface Pending extends PromiseWithResolvers<WrittenBook | undefined> {
  readonly write: Write
}

/** The writes of all clients. What arrives during a commit is committed next, together. */
export class CommitQueue {
  readonly #path: string
  readonly #commit: GroupCommit['commit']
  readonly #committed: (writes: number) => void
  #waiting: Pending[] = []
  #isScheduled = false
  /** How many imports are storing their books. Meanwhile nothing is committed. */
  #pauses = 0
  /** Why the last write was refused, if it was not for a lock of others. */
  refusal: StoreUnavailable | undefined

  /**
   * @param path of the database file, for messages.
   * @param committed is told of each commit.
   */
  constructor(path: string, commit: GroupCommit['commit'], committed: (writes: number) => void) {
    this.#path = path
    this.#commit = commit
    this.#committed = committed
  }

  /** @returns the book stored or deleted, once it is on the disk, or undefined if no book has that id. */
  add(write: Write): Promise<WrittenBook | undefined> {
    const pending = { write, ...Promise.withResolvers<WrittenBook | undefined>() }
    this.#waiting.push(pending)
    this.#commitSoon()
    return pending.promise
  }

  /** Until `resume`, nothing is committed, so that an import can write to the file without blocking this thread. */
  pause(): void {
    this.#pauses++
  }

  resume(): void {
    this.#pauses--
    this.#commitSoon()
  }

  /** Waits for the other writes of this turn of the event loop. */
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
