import type { Stored } from './stored.ts'

/** What of a book is changed; its title stays, and tells which book it is. */
export interface Content {
  readonly author: string
  readonly year: number
}

/** A write that was sent. */
export type Operation =
  | { readonly kind: 'create'; readonly content: Content }
  | { readonly kind: 'update'; readonly changes: Partial<Content> }
  | { readonly kind: 'delete' }

/**
 * What the client knows of a write: a 2xx; a 404; an error of the server that says that nothing was stored; another one,
 * after which it may or may not have happened; or that the connection ended before the response, with the same meaning.
 */
export type Outcome = 'acknowledged' | 'notFound' | 'undone' | 'refused' | 'unknown'

/** A Content as text, or ABSENT. */
type State = string
const ABSENT: State = 'absent'
const stateOf = ({ author, year }: Content): State => JSON.stringify([author, year])

/** A book, as far as its writer can know it. */
export interface TrackedBook {
  readonly title: string
  id: number | undefined
  /** Every state that its writes and their outcomes allow. */
  possible: Set<State>
  /** Every state that it may ever have had. */
  readonly past: Set<State>
}

/** How many faults are described; all are counted. */
const MAX_DESCRIBED = 20

/** Remembers every write and its outcome, and tells what a store that keeps its promises may hold. */
export class Journal {
  /** Descriptions of what is wrong; empty if nothing is. */
  readonly faults: string[] = []
  /** Writes by outcome, books that are not as acknowledged, rows that no write explains, and damaged files. */
  readonly figures = { acknowledged: 0, refused: 0, unknown: 0, lost: 0, unexplained: 0, damaged: 0 }
  readonly #books = new Map<string, TrackedBook>()
  readonly #idsGiven = new Set<number>()
  #serial = 0

  /** A number that no write has had. */
  serial(): number {
    return ++this.#serial
  }

  /** A book that is about to be created. */
  newBook(title = `book ${this.serial()}`): TrackedBook {
    const book = { title, id: undefined, possible: new Set([ABSENT]), past: new Set([ABSENT]) }
    this.#books.set(title, book)
    return book
  }

  /** The books with known ids that may be there, for writers that go on with them. */
  knownBooks(): TrackedBook[] {
    const isThere = ({ id, possible }: TrackedBook) =>
      id !== undefined && (possible.size > 1 || !possible.has(ABSENT))
    return this.#books.values().filter(isThere).toArray()
  }

  /** @param id of the response, when a create is acknowledged. */
  record(book: TrackedBook, operation: Operation, outcome: Outcome, id?: number): void {
    if (outcome === 'undone') {
      this.figures.refused++
      return
    }
    if (outcome !== 'notFound') this.figures[outcome]++
    const before = [...book.possible]
    const exists = before.filter((state) => state !== ABSENT)
    const applied = (operation.kind === 'create' ? before : exists).map((state) => apply(operation, state))
    for (const state of applied) book.past.add(state)
    if (outcome === 'notFound') {
      if (!book.possible.has(ABSENT)) this.#fault('lost', `${book.title}: 404, but it must be there`)
      book.possible = new Set([ABSENT])
    } else if (outcome !== 'acknowledged') {
      book.possible = new Set([...before, ...applied])
    } else {
      if (applied.length === 0) this.#fault('unexplained', `${book.title}: changed after it was deleted`)
      book.possible = new Set(applied)
    }
    if (id === undefined) return
    if (this.#idsGiven.has(id)) this.#fault('unexplained', `${book.title}: id ${id} was given before`)
    this.#idsGiven.add(id)
    book.id = id
  }

  /** Checks a response of the service that says what the book is now. */
  observe(book: TrackedBook, content: Content | undefined): void {
    this.#judge(book, content === undefined ? ABSENT : stateOf(content))
  }

  /** Compares with what is in the file after the service has ended; from there the journal carries on. */
  compare({ rows, integrity }: Stored): void {
    if (integrity !== 'ok') this.#fault('damaged', integrity)
    const { lost } = this.figures
    const seen = new Set<string>()
    for (const { id, title, author, year } of rows) {
      const state = stateOf({ author, year })
      const book = this.#books.get(title) ?? this.newBook(title)
      if (seen.has(title)) this.#fault('unexplained', `${title}: is there twice`)
      seen.add(title)
      if (book.id !== undefined && book.id !== id) {
        this.#fault('unexplained', `${title}: has id ${id}, not ${book.id}`)
      }
      this.#judge(book, state)
      book.id = id
      book.possible = new Set([state])
    }
    for (const book of this.#books.values()) {
      if (seen.has(book.title)) continue
      this.#judge(book, ABSENT)
      book.possible = new Set([ABSENT])
    }
    // After a loss ids are given again; that is one fault, not two.
    if (this.figures.lost > lost) this.#idsGiven.clear()
  }

  #judge(book: TrackedBook, state: State): void {
    if (book.possible.has(state)) return
    const [allowed] = book.possible
    const words = `${book.title} (id ${book.id}): ${state.slice(0, 80)} instead of ${allowed?.slice(0, 80)}`
    this.#fault(book.past.has(state) ? 'lost' : 'unexplained', words)
  }

  #fault(kind: 'lost' | 'unexplained' | 'damaged', words: string): void {
    this.figures[kind]++
    if (this.faults.length < MAX_DESCRIBED) this.faults.push(`${kind}: ${words}`)
  }
}

function apply(operation: Operation, state: State): State {
  if (operation.kind === 'delete') return ABSENT
  if (operation.kind === 'create') return stateOf(operation.content)
  const [author, year] = JSON.parse(state) as [string, number]
  return stateOf({ author, year, ...operation.changes })
}
