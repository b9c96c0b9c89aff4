import { type NewBook, textLength } from '../../catalogue/book.ts'
import { wordsOfBook } from '../../catalogue/search-words.ts'
import { isTrueWithin } from '../timeout.ts'

/** The maximum number of books that are looked up at once. */
export const STALE_BOOKS = 200

/** The approximate number of words that are stored in one step. */
const STEP_WORDS = 8000

/** How long it may take to make the words of a step, in milliseconds: other requests wait for it. */
export const STEP_TIME = 10

/** The total length of a title and an author whose words are made in less than a millisecond, in UTF-16 code units. */
const SHORT_TEXT = 500

/** The index is updated after so many milliseconds without a write. */
const DELAY = 200

/** The index is also updated after so many writes. */
const MAX_WRITES = 500

/** The time between reports to the operator during a long pass, in milliseconds. */
const REPORT_INTERVAL = 15_000

/** A book whose words in the index are missing or out of date, because some program wrote the book. */
export interface StaleBook {
  readonly id: number
  /** At least the part of the text that is searched. */
  readonly title: string
  readonly author: string
  /** Identifies its texts. */
  readonly fingerprint: string
  /** Whether the server refuses to store words; the instances that write elsewhere store them. MySQL has 0 or 1. */
  readonly isReadOnly: boolean | number
}

/** The words of a book, as the index stores them. */
export interface BookWords {
  readonly id: number
  /** Identifies the texts that have these words. */
  readonly fingerprint: string
  readonly words: readonly string[]
}

/** Whether the words of a book are made quickly enough for the request that creates it. */
export function hasShortTexts(book: NewBook): boolean {
  return textLength(book) <= SHORT_TEXT
}

/** The words of all books in the database. */
export interface SearchIndex {
  /** The first stale books with an id above `after`, in the order of ids, at most STALE_BOOKS. */
  stale(after: number): Promise<readonly StaleBook[]>
  /**
   * Stores the words of books, except of those whose texts have changed since.
   * @returns the number of books whose words were stored.
   */
  store(books: readonly BookWords[]): Promise<number>
}

/**
 * Keeps the index of words up to date. The service itself splits texts into words, so that all engines find the same
 * books. A fingerprint of the indexed texts is stored with each book, so that the database knows which books are
 * stale, whichever program wrote them. The index follows the writes in steps of many books, and is brought up to date
 * before a search. To index within the transaction of every write would take MySQL four round trips instead of one.
 */
export class SearchIndexer {
  readonly #index: SearchIndex
  readonly #report: (message: string) => void
  #running: Promise<unknown> = Promise.resolve()
  /** The pass that begins when the running one ends. */
  #next: Promise<boolean> | undefined
  readonly #timer: NodeJS.Timeout
  #writes = 0
  #isClosed = false
  /** When the running pass began. */
  #beganAt: number | undefined

  /** @param report tells the operator something, in one line. */
  constructor(index: SearchIndex, report: (message: string) => void) {
    this.#index = index
    this.#report = report
    // A first pass without a write: the books may be older than the index.
    this.#timer = setTimeout(() => this.#begin(), DELAY)
  }

  /** To be called after each write that did not store the words itself. */
  noteWrite(): void {
    this.#timer.refresh()
    if (++this.#writes >= MAX_WRITES) this.#begin()
  }

  /**
   * Waits until everything is indexed that was written before the call, but not longer than `time`, and not at all if
   * the running pass has already taken that long.
   * @param time in milliseconds.
   * @param signal ends the wait.
   * @returns whether everything is indexed.
   * @throws the reason of the signal; else what the index throws.
   */
  async bringUpToDate(time: number, signal?: AbortSignal): Promise<boolean> {
    if (this.#beganAt === undefined || Date.now() - this.#beganAt < time)
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

  /** An error is ignored here, because it comes again, and is reported, with the search that needs the index. */
  #begin(): void {
    this.#writes = 0
    this.#pass().catch(() => {})
  }

  /** A pass that begins after the call: the running one may have looked before the write. */
  #pass(): Promise<boolean> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      this.#beganAt = Date.now()
      const pass = this.#indexAll().finally(() => {
        this.#beganAt = undefined
      })
      this.#running = pass.catch(() => {})
      return pass
    })
    return this.#next
  }

  /** @returns whether everything is indexed. */
  async #indexAll(): Promise<boolean> {
    let reported = Date.now()
    let after = 0
    let books = 0
    let reports = 0
    let stale: readonly StaleBook[] = []
    for (let isLast = false; !this.#isClosed; ) {
      if (stale.length === 0) {
        if (isLast) break
        stale = await this.#index.stale(after)
        isLast = stale.length < STALE_BOOKS
        continue
      }
      if (stale.some(({ isReadOnly }) => isReadOnly)) return false
      const step = wordsOfSome(stale)
      const stored = await this.#index.store(step)
      books += stored
      // A book that has changed since is perhaps still stale, so these books are looked up again.
      const isChanged = stored < step.length
      if (!isChanged) after = step.at(-1)?.id ?? after
      stale = isChanged ? [] : stale.slice(step.length)
      if (isChanged) isLast = false
      if (Date.now() < reported + REPORT_INTERVAL) continue
      this.#report(`indexing the words of books, ${books} so far; searches do not find the others yet`)
      reported = Date.now()
      reports++
    }
    if (reports > 0) this.#report(`indexed the words of ${books} books`)
    return true
  }
}

/** The words of the first books, of at least one. */
function wordsOfSome(books: readonly StaleBook[]): BookWords[] {
  const end = performance.now() + STEP_TIME
  const step: BookWords[] = []
  let count = 0
  for (const book of books) {
    const words = wordsOfBook(book)
    step.push({ id: book.id, fingerprint: book.fingerprint, words })
    count += words.length
    if (count >= STEP_WORDS || performance.now() >= end) break
  }
  return step
}
