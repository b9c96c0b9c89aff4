import { channel } from 'node:diagnostics_channel'
import { promisify } from 'node:util'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { errorOf } from './failure.ts'
import type { Outcome, Row, Write } from './group-commit.ts'
import { SqliteThread } from './worker.ts'
import type { WriterAnswer, WriterMessage } from './writer-thread.ts'

/** Bounds of what may wait for the disk: more is turned away at once. Text is in UTF-16 code units. */
const MAX_WAITING = 5000
const MAX_WAITING_TEXT = 32 * 1024 * 1024

/** Writes answered before others have their turn. */
const ANSWERS_IN_A_ROW = 8

/** Publishes how many writes each commit has. */
const groupCommits = channel('book-catalogue.group-commit')

const turnOfEventLoop = promisify(setImmediate)

type Thread = SqliteThread<WriterMessage, WriterAnswer>

interface Pending {
  readonly write: Write
  readonly resolve: (row: Row | undefined) => void
  readonly reject: (error: Error) => void
}

/**
 * The one writer of a database file. While a batch of writes is being committed, the next ones wait together and
 * become the next batch; a write that comes alone is committed at once.
 */
export class SqliteWriter {
  readonly #path: string
  /** Undefined after it has died, until there is something to write again. */
  #thread: Thread | undefined
  #waiting: Pending[] = []
  #waitingText = 0
  #committing: Pending[] = []
  #scheduled = false
  /** Those that wait for the index, in the order of their calls. */
  #indexing: PromiseWithResolvers<void>[] = []
  /** Those for whose sake nothing is committed, and what to call when nothing is being committed any more. */
  #holders = 0
  #idle: (() => void)[] = []
  /** Writes that have not been answered yet, and what to call when there are none. */
  #unanswered = 0
  #drained = () => {}

  /** @param path of a database file that has its schema. */
  constructor(path: string) {
    this.#path = path
    this.#thread = this.#start()
  }

  /**
   * @returns the row stored or deleted, once that is on the disk, or undefined if there is none with that id.
   * @throws StoreUnavailable also at once, when too much is waiting already.
   */
  async write(write: Write): Promise<Row | undefined> {
    const text = textLength(write)
    if (this.#waiting.length >= MAX_WAITING || this.#waitingText + text > MAX_WAITING_TEXT) {
      throw new StoreUnavailable('too many writes are waiting for the disk')
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
  index(): Promise<void> {
    const indexed = Promise.withResolvers<void>()
    this.#indexing.push(indexed)
    this.#post('index')
    return indexed.promise
  }

  /**
   * Lets all writes wait, so that somebody else can write to the file without keeping the thread busy.
   * @returns when nothing is being committed any more, what ends it; then the index follows what was written.
   */
  async hold(): Promise<() => void> {
    this.#holders++
    if (this.#committing.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
    return () => {
      this.#holders--
      this.#post('changed')
      this.#commit()
    }
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
    await this.#thread?.end()
  }

  /** Takes in what else arrives in this turn of the event loop. */
  #commitSoon(): void {
    if (this.#scheduled || this.#committing.length > 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#commit()
    })
  }

  #commit(): void {
    if (this.#waiting.length === 0 || this.#committing.length > 0 || this.#holders > 0) return
    this.#committing = this.#waiting
    this.#waiting = []
    this.#waitingText = 0
    groupCommits.publish(this.#committing.length)
    this.#post(this.#committing.map(({ write }) => write))
  }

  #post(message: WriterMessage): void {
    this.#thread ??= this.#start()
    this.#thread.post(message)
  }

  #answered(answer: WriterAnswer): void {
    if (answer === 'indexed') this.#indexing.shift()?.resolve()
    else if ('error' in answer) this.#indexing.shift()?.reject(errorOf(answer))
    else this.#settle(answer)
  }

  async #settle(outcomes: readonly Outcome[]): Promise<void> {
    const committed = this.#committing
    this.#committing = []
    for (const resolve of this.#idle.splice(0)) resolve()
    // First the next batch, so that the disk works while the answers are written.
    this.#commit()
    for (const [i, { resolve, reject }] of committed.entries()) {
      // Answering many at once would keep the reads waiting, and the disk idle for want of new writes.
      if (i % ANSWERS_IN_A_ROW === ANSWERS_IN_A_ROW - 1) await turnOfEventLoop()
      const outcome = outcomes[i]
      if (outcome === undefined) reject(new Error('the writer thread left a write without an outcome'))
      else if ('row' in outcome) resolve(outcome.row)
      else reject(errorOf(outcome))
    }
  }

  #start(): Thread {
    return new SqliteThread('./writer-thread.ts', this.#path, {
      answered: (answer) => this.#answered(answer),
      ended: (cause) => this.#ended(cause),
    })
  }

  #ended(cause: Error): void {
    this.#thread = undefined
    const lost = this.#committing
    this.#committing = []
    for (const resolve of this.#idle.splice(0)) resolve()
    const message = `the writer thread died, and it is not known whether the write was stored: ${cause.message}`
    for (const { reject } of lost) reject(new StoreUnavailable(message, { cause }))
    for (const { reject } of this.#indexing.splice(0)) reject(new StoreUnavailable(cause.message, { cause }))
    this.#commit()
  }
}

function textLength(write: Write): number {
  const written = write.kind === 'delete' ? undefined : write
  const expected = write.kind === 'create' ? undefined : write.expected
  return (
    lengthOf(written?.title) +
    lengthOf(written?.author) +
    lengthOf(expected?.title) +
    lengthOf(expected?.author)
  )
}

function lengthOf(text: string | null | undefined): number {
  return text?.length ?? 0
}
