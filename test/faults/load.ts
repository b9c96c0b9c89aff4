import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { Book } from '../../src/catalogue/book.ts'
import type { RawResponse } from '../support/raw-socket.ts'
import { until } from '../support/until.ts'
import { assertUnavailable, Caller } from './caller.ts'
import type { Journal, Operation, Outcome, TrackedBook } from './journal.ts'

/** A client that has fewer books creates one; one that goes on with books of before takes so many. */
const [FEW, MANY] = [5, 20]

/** How long a client waits after a refusal, in milliseconds. */
const PAUSE = 20

export interface LoadOptions {
  readonly clients?: number
  /** Length of the authors, at least; every twentieth is longer than a page of the database. */
  readonly authorLength?: number
  /** Leave a book alone once a write to it was refused, because a server may still do it, and that after the next one. */
  readonly leaveRefused?: boolean
  /** Whether books are updated and deleted, too. */
  readonly changes?: boolean
  /** How long a client waits between two writes, in milliseconds. */
  readonly pause?: number
}

/**
 * Clients that create, update, delete and read, each its own books, one request at a time, and journal what they were
 * told. A client ends when the connection of a write does.
 */
export class Load {
  /** Fulfilled when every client has ended. */
  readonly ended: Promise<void>
  /** How many reads were answered with a book, and how many with an error of the server. */
  readonly reads = { answered: 0, failed: 0 }
  /** How many writes were acknowledged, and how many since the last one that was not. */
  acknowledged = 0
  inARow = 0
  readonly #caller: Caller
  readonly #journal: Journal
  readonly #options: Required<LoadOptions>
  #stopping = false

  constructor(url: string, journal: Journal, options: LoadOptions = {}) {
    this.#caller = new Caller({ url })
    this.#journal = journal
    const defaults = { clients: 64, authorLength: 40, leaveRefused: false, changes: true, pause: 0 }
    this.#options = { ...defaults, ...options }
    const known = journal.knownBooks()
    const length = this.#options.clients
    const all = Array.from({ length }, (_, i) => this.#client(known.slice(i * MANY, (i + 1) * MANY)))
    this.ended = Promise.all(all).then(() => {})
  }

  /** Waits for what the load brings about. @throws Error if its clients end before, or if it takes minutes. */
  async until(condition: () => boolean): Promise<void> {
    const figures = () => `enough: ${JSON.stringify({ ...this.#journal.figures, reads: this.reads })}`
    await Promise.race([until(figures, condition), this.ended])
    assert.ok(condition(), `not ${figures()}`)
  }

  /** Lets every client finish the request in flight. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.ended
  }

  async #client(books: TrackedBook[]): Promise<void> {
    while (!this.#stopping) {
      const outcome = await this.#write(books)
      if (outcome === 'unknown') return
      if (outcome === 'refused' || outcome === 'undone') await setTimeout(PAUSE)
      if (this.#options.pause > 0) await setTimeout(this.#options.pause)
      const book = pick(books)
      if (Math.random() < 0.1 && book?.id !== undefined) await this.#read(book)
    }
  }

  async #write(books: TrackedBook[]): Promise<Outcome> {
    const isNew = !this.#options.changes || books.length < FEW || Math.random() < 0.4
    const old = isNew ? undefined : pick(books)
    const book = old ?? this.#journal.newBook()
    const operation = this.#choose(old)
    const response = await this.#caller.callUnlessCut(...request(book, operation))
    const outcome = outcomeOf(response)
    const data =
      outcome === 'acknowledged' ? (JSON.parse(response?.body ?? '') as { data: Book | null }).data : null
    this.#journal.record(book, operation, outcome, operation.kind === 'create' ? data?.id : undefined)
    if (data !== null) this.#journal.observe(book, data)
    if (outcome === 'acknowledged') this.acknowledged++
    this.inARow = outcome === 'acknowledged' ? this.inARow + 1 : 0
    const isGone =
      outcome === 'notFound' ||
      (operation.kind === 'delete' && outcome === 'acknowledged') ||
      (outcome === 'refused' && this.#options.leaveRefused && old !== undefined)
    if (isGone) books.splice(books.indexOf(book), 1)
    else if (old === undefined && book.id !== undefined) books.push(book)
    return outcome
  }

  #choose(book: TrackedBook | undefined): Operation {
    const year = this.#journal.serial()
    const author = `${year} `.padEnd(this.#options.authorLength + (year % 20 === 0 ? 5000 : 0), 'x')
    if (book === undefined) return { kind: 'create', content: { author, year } }
    const chance = Math.random()
    if (chance < 0.3) return { kind: 'update', changes: { author, year } }
    if (chance < 0.5) return { kind: 'update', changes: { year } }
    return { kind: 'delete' }
  }

  async #read(book: TrackedBook): Promise<void> {
    const response = await this.#caller.callUnlessCut(`GET /book/${book.id}`)
    if (response === undefined) return
    if (outcomeOf(response) === 'refused') {
      this.reads.failed++
      return
    }
    this.reads.answered++
    const { data } = JSON.parse(response.body) as { data: Book | null }
    this.#journal.observe(book, data ?? undefined)
  }
}

/**
 * Checks that all works before and after a fault, and that reads work and writes are refused while it lasts.
 * @param begin begins it. @returns what ends it.
 * @param isEnough when it has lasted long enough.
 * @param during the options meanwhile, if they are others.
 * @returns the load of that time.
 */
export async function surviveFault(
  url: string,
  journal: Journal,
  begin: () => Promise<() => unknown>,
  isEnough: (load: Load) => boolean,
  options: LoadOptions = {},
  during = options,
): Promise<Load> {
  const loadUntil = async (isOver: (load: Load) => boolean, options: LoadOptions) => {
    const load = new Load(url, journal, options)
    await load.until(() => isOver(load)).finally(() => load.stop())
    return load
  }
  const works = () => loadUntil(({ acknowledged }) => acknowledged > 300, options)
  await works()
  assert.equal(journal.figures.refused, 0)
  const end = await begin()
  const load = await loadUntil(isEnough, during)
  assert.equal(load.reads.failed, 0)
  await end()
  const { refused } = journal.figures
  await works()
  assert.equal(journal.figures.refused, refused, 'a write is still refused')
  return load
}

/** A load that goes on, at a random moment: when 100 to 400 writes are acknowledged, however long they take. */
export async function loadForAMoment(url: string, journal: Journal): Promise<Load> {
  const load = new Load(url, journal)
  const writes = 100 * (1 + 3 * Math.random())
  await load.until(() => load.acknowledged > writes)
  return load
}

function request({ id, title }: TrackedBook, operation: Operation): [string, object?] {
  if (operation.kind === 'create') return ['POST /book', { title, ...operation.content }]
  return operation.kind === 'update' ? [`PUT /book/${id}`, operation.changes] : [`DELETE /book/${id}`]
}

function outcomeOf(response: RawResponse | undefined): Outcome {
  if (response === undefined) return 'unknown'
  if (response.status === 200 || response.status === 201) return 'acknowledged'
  if (response.status === 404) return 'notFound'
  assertUnavailable(response)
  return response.headers.get('x-stored') === 'no' ? 'undone' : 'refused'
}

function pick<Item>(items: readonly Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)]
}
