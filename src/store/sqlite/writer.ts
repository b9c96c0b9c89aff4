import { channel } from 'node:diagnostics_channel'
import { promisify } from 'node:util'
import { textLength } from '../../catalogue/book.ts'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { errorOf } from './failure.ts'
import type { Outcome, Write, WrittenBook } from './group-commit.ts'
import { WorkerClient, WorkerDied } from './worker.ts'
import type { WriterAnswer, WriterRequest } from './writer-thread.ts'

/** Writes that may wait for the disk. More are turned away at once. */
const MAX_WAITING = 5000

/** UTF-16 code units of all waiting writes together, at most. */
const MAX_WAITING_TEXT = 32 * 1024 * 1024

/** Writes answered before others have their turn. */
const ANSWERS_IN_A_ROW = 8

/** Publishes how many writes each commit has. */
const groupCommits = channel('book-catalogue.group-commit')

const nextTurn = promisify(setImmediate)

type Thread = WorkerClient<WriterRequest, WriterAnswer>

interface Pending {
  readonly write: Write
  readonly resolve: (book: WrittenBook | undefined) => void
  readonly reject: (error: Error) => void
}

/**
 * The only writer of a database file. While a batch is being committed, new writes wait and become the next batch. A
 * single write is committed at once.
 */
export class SqliteWriter {
  readonly #path: string
  #thread: Thread
  #waiting: Pending[] = []
  #waitingText = 0
  #committing: readonly Pending[] = []
  #scheduled = false
  /** The number of holds that pause commits, and callbacks for when no commit is running. */
  #holders = 0
  #idle: (() => void)[] = []
  /** Why the last write was refused, if it was not for a lock of others. */
  #refusal: Error | undefined
  /** The number of unanswered writes, and a callback for when there are none. */
  #unanswered = 0
  #drained = () => {}

  /** @param path of a database file that has its schema. */
  constructor(path: string) {
    this.#path = path
    this.#thread = this.#start()
  }

  /**
   * @returns the row stored or deleted, once it is on the disk, or undefined if no book has that id.
   * @throws StoreUnavailable, at once if too much is waiting already.
   */
  async write(write: Write): Promise<WrittenBook | undefined> {
    const text = lengthOf(write)
    if (this.#waiting.length >= MAX_WAITING || this.#waitingText + text > MAX_WAITING_TEXT) {
      throw new StoreUnavailable('too many writes are waiting for the disk', {
        reason: 'overload',
        nothingWritten: true,
      })
    }
    this.#unanswered++
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.push({ write, resolve, reject })
        this.#waitingText += text
        this.#commitSoon()
      })
    } finally {
      if (--this.#unanswered === 0) this.#drained()
    }
  }

  /**
   * Resolves when queries find all that was committed before the call.
   * @throws StoreUnavailable
   */
  async index(): Promise<void> {
    await this.#request('index')
  }

  /**
   * Pauses all writes, so another thread can write to the file without blocking this one's.
   * @returns a function that ends the pause and then updates the index, once no commit is running.
   */
  async hold(): Promise<() => void> {
    this.#holders++
    if (this.#committing.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
    return () => {
      this.#holders--
      // If the thread has died, the next one checks for itself.
      this.#request('changed').catch(() => {})
      void this.#commit()
    }
  }

  /**
   * Rejects while nothing can be written. A write tells, but only where an earlier one or the disk gives reason to doubt.
   * @param isDoubtful whether the disk does. A probe may be small enough for it where a write was not.
   */
  async ready(isDoubtful: boolean): Promise<void> {
    if (!isDoubtful && this.#refusal === undefined) return
    if (isDoubtful && this.#refusal !== undefined) throw this.#refusal
    await this.#request('probe')
    this.#refusal = undefined
  }

  load() {
    return { writes_waiting: this.#waiting.length, writes_committing: this.#committing.length }
  }

  /** Commits what is waiting and ends the thread. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#drained = resolve
      if (this.#unanswered === 0) resolve()
    })
    await this.#thread.end()
  }

  /** Waits for the other writes of this turn of the event loop. */
  #commitSoon(): void {
    if (this.#scheduled || this.#committing.length > 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#commit()
    })
  }

  async #commit(): Promise<void> {
    if (this.#waiting.length === 0 || this.#committing.length > 0 || this.#holders > 0) return
    const batch = this.#waiting
    this.#committing = batch
    this.#waiting = []
    this.#waitingText = 0
    groupCommits.publish(batch.length)
    const outcomes = await this.#outcomesOf(batch)
    this.#committing = []
    for (const resolve of this.#idle.splice(0)) resolve()
    // The next batch starts first, so the disk works while the answers are written.
    void this.#commit()
    for (const [i, { resolve, reject }] of batch.entries()) {
      // Answering many at once would delay the reads, and leave the disk idle without new writes.
      if (i % ANSWERS_IN_A_ROW === ANSWERS_IN_A_ROW - 1) await nextTurn()
      const outcome = outcomes instanceof Error ? outcomes : outcomes[i]
      if (outcome instanceof Error) reject(this.#noted(outcome))
      else if (outcome === undefined) reject(new Error('the writer thread left a write without an outcome'))
      else if ('book' in outcome) {
        this.#refusal = undefined
        resolve(outcome.book)
      } else reject(this.#noted(errorOf(outcome)))
    }
  }

  #noted(error: Error): Error {
    if (error instanceof StoreUnavailable && error.reason !== 'conflict') this.#refusal = error
    return error
  }

  /** @returns the outcome of each write, or the error if none is known. */
  async #outcomesOf(batch: readonly Pending[]): Promise<readonly Outcome[] | Error> {
    try {
      return (await this.#request(batch.map(({ write }) => write))) ?? []
    } catch (error) {
      if (!(error instanceof WorkerDied)) return error as Error
      const message = `${error.message}; it is not known whether the write was stored`
      return new StoreUnavailable(message, { cause: error.cause })
    }
  }

  /** Replaces a dead thread on the next request. */
  #request(request: WriterRequest): Promise<WriterAnswer> {
    if (!this.#thread.isAlive) this.#thread = this.#start()
    return this.#thread.request(request)
  }

  #start(): Thread {
    return new WorkerClient('writer', 'store/sqlite/writer-thread', this.#path)
  }
}

/** The length of all texts of a write, in UTF-16 code units. */
function lengthOf(write: Write): number {
  if (write.kind === 'create') return textLength(write.book)
  const changed = write.kind === 'update' ? textLength(write.changes) : 0
  return changed + textLength(write.expected ?? {})
}
