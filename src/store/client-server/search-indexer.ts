import { type BookChanges, textLength } from '../../catalogue/book.ts'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { isTrueWithin } from '../timeout.ts'

/** The most books that are looked up at once. */
export const STALE_BOOKS = 200

/** The approximate number of words that are stored in one step. */
const STEP_WORDS = 8000

/** How long making the words of a step may block the event loop, in milliseconds. */
export const STEP_TIME = 10

/** Up to this total length of title and author, in UTF-16 code units, making words takes less than a millisecond. */
const SHORT_TEXT = 500

/** The index is updated after so many milliseconds without a write, and after so many writes. */
const DELAY = 200
const MAX_WRITES = 500

/** A book whose entry in an index is missing or out of date. */
export interface StaleBook {
  readonly id: number
  /** At least the part that is indexed. */
  readonly title: string
  readonly author: string
  /** Identifies its texts. */
  readonly fingerprint: string
  /** Whether the server refuses writes. Instances that write to another server store the entries. MySQL has 0 or 1. */
  readonly isReadOnly: boolean | number
}

export interface IndexEntry {
  readonly id: number
  /** Identifies the texts that it was made of. */
  readonly fingerprint: string
  /** The words of the book, or its sort keys in the order of INDEXED_FIELDS. */
  readonly values: readonly string[]
}

/** Whether the words of a book are made quickly enough for the request that creates it. */
export function hasShortTexts(book: BookChanges): boolean {
  return textLength(book) <= SHORT_TEXT
}

export interface BookIndex {
  /** The values of a book's entry. */
  valuesOf(book: StaleBook): readonly string[]
  /** The first stale books with an id above `after`, in the order of ids, at most STALE_BOOKS. */
  stale(after: number): Promise<readonly StaleBook[]>
  /**
   * Stores entries, except those of books whose texts have changed since.
   * @returns how many were stored.
   */
  store(entries: readonly IndexEntry[]): Promise<number>
  /** Whether an error means that the server has refused to store the entries, and has stored none. */
  isRefused(error: unknown): boolean
}

/**
 * Keeps an index of words or of sort keys up to date, in steps that follow the writes, and before a query that needs it.
 * The database knows which books are stale, whichever program wrote them: a fingerprint of the indexed texts is stored
 * with each book, and a sort key contains its text. Indexing words in the transaction of each write would take MySQL four
 * round trips instead of one. Sort keys are written with the book, so only those that other programs wrote are stale.
 */
export class BookIndexer {
  readonly #index: BookIndex
  #running: Promise<unknown> = Promise.resolve()
  /** The pass that begins when the running one ends. */
  #next: Promise<boolean> | undefined
  readonly #timer: NodeJS.Timeout
  #writes = 0
  #isClosed = false
  /** When the running pass began, as `performance.now()`, which nobody sets back; undefined if none runs. */
  #beganAt: number | undefined
  /** When the last pass began, if everything was indexed after it. */
  #completeAt = Number.NEGATIVE_INFINITY

  constructor(index: BookIndex) {
    this.#index = index
    // A first pass without a write: the books may be older than the index.
    this.#timer = setTimeout(() => this.#begin(), DELAY)
  }

  /** Call it after each write that did not store the entry itself. */
  noteWrite(): void {
    this.#timer.refresh()
    if (++this.#writes >= MAX_WRITES) this.#begin()
  }

  /**
   * Waits until everything that was written before the call is indexed, but not longer than `time`, and not at all if
   * the running pass has already taken that long.
   * @param time in milliseconds.
   * @param maxAge how many milliseconds of the latest writes may be missing.
   * @returns whether everything is indexed.
   * @throws the reason of the signal; else what the index throws.
   */
  async bringUpToDate(time: number, signal?: AbortSignal, maxAge = 0): Promise<boolean> {
    signal?.throwIfAborted()
    if (performance.now() - this.#completeAt < maxAge) return true
    if (this.#beganAt === undefined || performance.now() - this.#beganAt < time)
      return isTrueWithin(this.#pass(), time, signal)
    this.#begin()
    return false
  }

  /** Ends after the current step. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** An error is ignored here: it comes again with the next query that needs the index, and is reported there. */
  #begin(): void {
    this.#writes = 0
    this.#pass().catch(() => {})
  }

  /** @returns a pass that begins after the call: the running one may have looked for stale books before the write. */
  #pass(): Promise<boolean> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      const beganAt = performance.now()
      this.#beganAt = beganAt
      const pass = this.#indexAll()
        .then((isComplete) => {
          this.#completeAt = isComplete ? beganAt : Number.NEGATIVE_INFINITY
          return isComplete
        })
        .finally(() => {
          this.#beganAt = undefined
        })
      this.#running = pass.catch(() => {})
      return pass
    })
    return this.#next
  }

  async #indexAll(): Promise<boolean> {
    let after = 0
    let stale: readonly StaleBook[] = []
    let isComplete = true
    /** The fingerprints of books that have just been tried. */
    let tried: ReadonlyMap<number, string> = new Map()
    for (let isLast = false; !this.#isClosed; ) {
      if (stale.length === 0) {
        if (isLast) break
        const found = await this.#index.stale(after)
        isLast = found.length < STALE_BOOKS
        // Those that are stale with the same texts will stay so: row security, a trigger or a constraint protects them.
        stale = found.filter(({ id, fingerprint }) => tried.get(id) !== fingerprint)
        if (stale.length < found.length) isComplete = false
        after = stale[0] === undefined ? (found.at(-1)?.id ?? after) : stale[0].id - 1
        continue
      }
      if (stale.some(({ isReadOnly }) => isReadOnly)) return false
      const step = this.#entriesOfSome(stale)
      const stored = await this.#store(step)
      if (stored === undefined) return false
      // A book that has changed since may still be stale, so these books are looked up again.
      if (stored === step.length) {
        after = step.at(-1)?.id ?? after
        stale = stale.slice(step.length)
        continue
      }
      tried = new Map(step.map(({ id, fingerprint }) => [id, fingerprint]))
      stale = []
      isLast = false
    }
    return isComplete
  }

  /** @returns how many entries were stored, without those that the server refuses; undefined if it can store none now. */
  async #store(step: readonly IndexEntry[]): Promise<number | undefined> {
    try {
      return await this.#index.store(step)
    } catch (error) {
      // The account may only have the right to read, or the disk of the server is full.
      if (error instanceof StoreUnavailable) return undefined
      if (!this.#index.isRefused(error)) throw error
    }
    let stored = 0
    if (step.length > 1) for (const entry of step) stored += (await this.#store([entry])) ?? 0
    return stored
  }

  /** The entries of the first books, and of at least one, that fit into a step. */
  #entriesOfSome(books: readonly StaleBook[]): IndexEntry[] {
    const end = performance.now() + STEP_TIME
    const step: IndexEntry[] = []
    let words = 0
    for (const book of books) {
      const { id, fingerprint } = book
      const values = this.#index.valuesOf(book)
      step.push({ id, fingerprint, values })
      words += values.length
      if (words >= STEP_WORDS || performance.now() >= end) break
    }
    return step
  }
}
