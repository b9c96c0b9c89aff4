import assert from 'node:assert/strict'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import type { Book } from '../../../src/catalogue/book.ts'
import { logIn } from '../client.ts'
import type { Engine } from '../engines.ts'
import { type ListQuery, nextOf, parameterOf, pathOf, placeOf, tamper } from './parameters.ts'
import type { Body, Condition } from './steps.ts'

/** What two engines have to answer alike. */
export interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  /** With numbers that all engines share in the place of ids. */
  readonly body: unknown
}

/** An id that no book has. */
const NO_BOOK = 2 ** 50

/** An entity tag that no book has. */
const NO_TAG = '"none"'

/** How long a token is used, of the 15 minutes that it lives; in milliseconds. */
const TOKEN_USE = 5 * 60_000

const COMPARED_HEADERS = [
  'content-type',
  'retry-after',
  'allow',
  'cache-control',
  'www-authenticate',
  'connection',
  'etag',
]

/** Requests at once: more than the service has connections to its database. */
const CONNECTIONS = 16

/** The service on one engine, and the ids that it gave to the books of a sequence. */
export class EngineInUse {
  readonly name: Engine
  readonly #url: string
  readonly #setNextId: (id: number) => Promise<unknown>
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  #token = ''
  #tokenSince = -Infinity
  /** By the number of a creation, which is the same on all engines. */
  readonly #ids = new Map<number, number>()
  readonly #numbers = new Map<number, number>()
  /** The entity tags that books had when they were created, by number. */
  readonly #tags = new Map<number, string>()
  /** Above every id that was ever given. */
  #nextId = 1
  /** The highest id given in this step. */
  #highest = 0

  constructor(name: Engine, url: string, setNextId: (id: number) => Promise<unknown>) {
    this.name = name
    this.#url = url
    this.#setNextId = setNextId
  }

  end(): void {
    this.#agent.destroy()
  }

  /** Lets the ids go on from here. */
  async setNextId(id: number): Promise<void> {
    await this.#setNextId(id)
    this.#nextId = id
  }

  /** Begins a sequence, without any books. */
  async reset(): Promise<void> {
    if (Date.now() > this.#tokenSince + TOKEN_USE) {
      this.#token = await logIn(this.#url)
      this.#tokenSince = Date.now()
    }
    const { text } = await this.#send('GET', '/books')
    const { data } = JSON.parse(text) as { data: Book[] }
    await Promise.all(data.map(({ id }) => this.#send('DELETE', `/book/${id}`)))
    this.#ids.clear()
    this.#numbers.clear()
    this.#tags.clear()
  }

  /** Ends a step: what is created later has higher ids. */
  endStep(): void {
    this.#nextId = Math.max(this.#nextId, this.#highest + 1)
  }

  /** Whether a book may have the id, or get it soon. */
  mayHave(id: number): boolean {
    return this.#numbers.has(id) || (id >= this.#nextId && id < this.#nextId + 1000)
  }

  async create(number: number, body: Body): Promise<Answer> {
    const response = await this.#send('POST', '/book', body)
    if (response.status === 201) {
      const { id } = (JSON.parse(response.text) as { data: Book }).data
      assert.ok(id >= this.#nextId, `${this.name} gave the id ${id} after ${this.#nextId - 1}`)
      assert.ok(!this.#numbers.has(id), `${this.name} gave the id ${id} twice`)
      this.#ids.set(number, id)
      this.#numbers.set(id, number)
      this.#tags.set(number, response.headers.etag ?? NO_TAG)
      this.#highest = Math.max(this.#highest, id)
    }
    return this.#comparable(response)
  }

  /** @param call whose target is the number of a creation, or what stands in the place of an id. */
  async call({ method, target, body, condition }: Call): Promise<Answer> {
    const id = typeof target === 'string' ? target : (this.#ids.get(target) ?? NO_BOOK)
    const path = `/book/${id}`
    const headers = condition && { [condition.field]: await this.#tag(condition, target, path) }
    return this.#comparable(await this.#send(method, path, body, headers))
  }

  async #tag({ tag }: Condition, target: number | string, path: string): Promise<string> {
    if (tag === 'now') return (await this.#send('GET', path)).headers.etag ?? NO_TAG
    return (tag === 'created' && typeof target === 'number' && this.#tags.get(target)) || NO_TAG
  }

  async callPath(method: string, path: string): Promise<Answer> {
    return this.#comparable(await this.#send(method, path))
  }

  /** The list, ordered as the books were asked for: those that were created at once may have ids in any order. */
  async list(): Promise<Answer> {
    const response = await this.#send('GET', '/books')
    const { data, ...rest } = JSON.parse(response.text) as { data: Book[] | null }
    if (data === null) return this.#comparable(response)
    const ids = data.map(({ id }) => id)
    const ascending = ids.toSorted((a, b) => a - b)
    assert.deepEqual(ids, ascending, `${this.name} lists out of order`)
    const books = data.map((book) => ({ ...book, id: this.#number(book.id) }))
    // As entries, so that the order of the fields counts too.
    const entries = books.toSorted((a, b) => a.id - b.id).map(Object.entries)
    const { status, headers } = response
    return { status, headers, body: { ...rest, data: entries } }
  }

  /**
   * The books of a query, from page to page if there is a limit. Those that are equal in what they are sorted by may
   * have ids in any order: so what is compared is which books there are, and what they are sorted by.
   */
  async query(query: ListQuery): Promise<Answer> {
    const first = await this.#send('GET', pathOf(query))
    const books: Book[] = []
    for (let response = first; ; ) {
      const { data, ...rest } = JSON.parse(response.text) as { data: Book[] | null }
      if (data === null) return this.#comparable(response)
      assert.ok(
        data.length <= Number(parameterOf(query, 'limit') ?? data.length),
        `${this.name}: over the limit`,
      )
      books.push(...data)
      const next = nextOf(response.link)
      if (next === undefined) {
        const total = first.total === undefined ? undefined : Number(first.total)
        if (total !== undefined) assert.equal(total, books.length, `${this.name} counts wrongly`)
        const numbers = books.map(({ id }) => this.#number(id)).toSorted((a, b) => a - b)
        const places = books.map((book) => placeOf(query, book))
        const { status, headers } = response
        return { status, headers, body: { ...rest, total, numbers, places } }
      }
      response = await this.#send('GET', query.tampered ? tamper(next) : next)
    }
  }

  #number(id: number): number {
    const number = this.#numbers.get(id)
    assert.ok(number !== undefined, `${this.name} answers with the id ${id}, which it has not given`)
    return number
  }

  /** The text itself is compared, so that every character and every digit counts. */
  #comparable({ status, headers, text }: Sent): Answer {
    const body = text.replace(/"data":\{"id":(\d+),/, (_, id) => `"data":{"id":#${this.#number(Number(id))},`)
    return { status, headers, body }
  }

  #send(method: string, path: string, body?: Body, conditions?: Record<string, string>): Promise<Sent> {
    const headers = {
      authorization: this.#token,
      ...conditions,
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    }
    return new Promise((resolve, reject) => {
      const sent = request(this.#url + path, { method, headers, agent: this.#agent }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const { link, 'x-total-count': total } = response.headers
          resolve({ status: response.statusCode, headers: pick(response.headers), link, total, text })
        })
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }
}

interface Call {
  readonly method: string
  readonly target: number | string
  readonly body?: Body
  readonly condition?: Condition | undefined
}

interface Sent {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly link: string | string[] | undefined
  readonly total: string | string[] | undefined
  readonly text: string
}

function pick(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(COMPARED_HEADERS.map((name) => [name, headers[name]]))
}
