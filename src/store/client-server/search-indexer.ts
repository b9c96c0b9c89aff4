import { wordsOfBook } from '../../catalogue/search-words.ts'
import { isTrueWithin } from '../timeout.ts'

/** Books that are looked up at once, at most. */
export const DUE_BOOKS = 200

/** About so many words are stored in one step, made in so many milliseconds: other requests wait for that. */
const STEP_WORDS = 8000
const STEP_TIME = 10

/** The length of a title and an author of which the words take a part of a millisecond, in UTF-16 code units. */
const SHORT_TEXT = 500

/** The index follows the writes when there was none for so long, in milliseconds, or with so many. */
const DELAY = 200
const MAX_WRITES = 500

/** How long a pass over the books may take before the operator is told of it, and how often then; milliseconds. */
const REPORT_INTERVAL = 15_000

/** A book whose words are not those in the index: it is new, or was changed, by whatever program. */
export interface DueBook {
  readonly id: number
  /** The parts of its texts that are searched, or more. */
  readonly title: string
  readonly author: string
  /** Of its texts. */
  readonly fingerprint: string
}

/** What the index has of a book. */
export interface BookWords {
  readonly id: number
  /** Of the texts that have these words. */
  readonly fingerprint: string
  readonly words: readonly string[]
}

/** Whether the words of a book are so soon made that its request may do it. */
export function hasShortTexts({ title, author }: Pick<DueBook, 'title' | 'author'>): boolean {
  return title.length + author.length <= SHORT_TEXT
}

/** The words of all books in the database. */
export interface WordIndex {
  /** The first books that are due, by their ids, at most DUE_BOOKS; all of them have an id above `after`. */
  due(after: number): Promise<readonly DueBook[]>
  /**
   * Stores the words of books, except of those whose texts have changed meanwhile.
   * @returns of how many.
   */
  store(books: readonly BookWords[]): Promise<number>
}

/**
 * Keeps the index of words. Words are told from texts in the service, so that all engines find the same books; and
 * with each book is stored of which texts its words are, as a fingerprint, so that the database itself tells which
 * books are due, whoever wrote them. The index follows the writes in steps of many books, and at once for a search:
 * in the transaction of every write it would take MySQL four round trips instead of one.
 */
export class WordUpkeep {
  readonly #index: WordIndex
  readonly #report: (message: string) => void
  #running: Promise<void> = Promise.resolve()
  /** The pass that begins when the one that is running ends. */
  #next: Promise<void> | undefined
  readonly #timer: NodeJS.Timeout
  #writes = 0
  #isClosed = false
  /** When the pass that is running began. */
  #beganAt: number | undefined

  /** @param report tells the operator of something that takes time; one line. */
  constructor(index: WordIndex, report: (message: string) => void) {
    this.#index = index
    this.#report = report
    // Also without a write: the books may be older than the index.
    this.#timer = setTimeout(() => this.#begin(), DELAY)
  }

  /** To be called after each write that does not bring its words along. */
  noteWrite(): void {
    this.#timer.refresh()
    if (++this.#writes >= MAX_WRITES) this.#begin()
  }

  /**
   * Resolves when the index has all that was written before the call; or when that takes too long, at once if a pass
   * is running that already has.
   * @param time that it may take, in milliseconds.
   * @param signal ends the wait.
   * @returns whether the index has all.
   * @throws the reason of the signal; else what the index throws.
   */
  async bringUpToDate(time: number, signal?: AbortSignal): Promise<boolean> {
    if (this.#beganAt === undefined || Date.now() - this.#beganAt < time)
      return isTrueWithin(
        this.#pass().then(() => true),
        time,
        signal,
      )
    this.#begin()
    return false
  }

  /** Ends when the step that is being done is. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** What fails here fails again for the search that needs it, and is told then. */
  #begin(): void {
    this.#writes = 0
    this.#pass().catch(() => {})
  }

  /** A pass that begins after the call: one that is running may already have looked. */
  #pass(): Promise<void> {
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

  async #indexAll(): Promise<void> {
    let reported = Date.now()
    let [after, books, reports] = [0, 0, 0]
    let due: readonly DueBook[] = []
    for (let isLast = false; !this.#isClosed; ) {
      if (due.length === 0) {
        if (isLast) break
        due = await this.#index.due(after)
        isLast = due.length < DUE_BOOKS
        continue
      }
      const step = wordsOfSome(due)
      const stored = await this.#index.store(step)
      books += stored
      // What has changed meanwhile was perhaps due before: it has to be looked at again.
      const isChanged = stored < step.length
      if (!isChanged) after = step.at(-1)?.id ?? after
      due = isChanged ? [] : due.slice(step.length)
      if (isChanged) isLast = false
      if (Date.now() < reported + REPORT_INTERVAL) continue
      this.#report(`indexing the words of books, ${books} so far; searches do not find the others yet`)
      reported = Date.now()
      reports++
    }
    if (reports > 0) this.#report(`indexed the words of ${books} books`)
  }
}

/** The words of the first books, at least of one. */
function wordsOfSome(books: readonly DueBook[]): BookWords[] {
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
