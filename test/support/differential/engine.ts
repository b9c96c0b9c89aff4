import assert from 'node:assert/strict'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { logIn } from '../client.ts'
import type { Databases } from '../database-server.ts'
import type { Engine } from '../engines.ts'
import { startService, temporaryDirectory } from '../service.ts'
import type { Body, Condition, OfBook, Request } from './requests.ts'

/** What engines have to answer alike, with numbers that all of them share in the place of ids. */
interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** An id that no book has. */
const NO_BOOK = 2 ** 50

/** An entity tag that no book has. */
const NO_TAG = '"none"'

/** How long a token is used, of the 15 minutes that it lives; in milliseconds. */
const TOKEN_USE = 5 * 60_000

const COMPARED_HEADERS = [
  ...['content-type', 'retry-after', 'allow', 'cache-control', 'www-authenticate', 'connection', 'etag'],
  'x-total-count',
]

/** Requests at once: more than the service has connections to its database. */
const CONNECTIONS = 16

/** The service on one engine, and the books of a sequence. */
export class EngineInUse {
  readonly name: Engine
  readonly #url: string
  readonly #setNextId: (id: number) => Promise<unknown>
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  #token = ''
  #tokenSince = Number.NEGATIVE_INFINITY
  /** The ids of the creations of a sequence, in their order, and the entity tags that the books had then. */
  #created: { readonly id: number; readonly tag: string }[] = []
  /** No book ever had a higher id. */
  #lastId = 0

  /**
   * Starts the service on a new database, and gives everything up to the stack.
   * @param databases the server, of an engine that is one.
   */
  static async start(name: Engine, stack: AsyncDisposableStack, databases?: Databases): Promise<EngineInUse> {
    const directory = temporaryDirectory()
    stack.defer(directory.remove)
    let DB_URL = 'sqlite:books.db'
    let setNextId = async (id: number): Promise<unknown> => {
      using database = new DatabaseSync(join(directory.path, 'books.db'), { timeout: 60_000 })
      database.exec("DELETE FROM sqlite_sequence WHERE name = 'books'")
      return database.exec(`INSERT INTO sqlite_sequence (name, seq) VALUES ('books', ${id - 1})`)
    }
    if (databases !== undefined) {
      DB_URL = await databases.createDatabase()
      stack.defer(() => databases.dropDatabase(DB_URL))
      const change = databases.engine === 'mysql' ? 'AUTO_INCREMENT = ' : 'ALTER id RESTART WITH '
      setNextId = (id) => databases.query(`ALTER TABLE books ${change}${id}`, DB_URL)
    }
    const service = await startService(directory.path, { DB_URL })
    stack.defer(async () => void (await service.stop()))
    const engine = new EngineInUse(name, service.url, setNextId)
    stack.defer(() => engine.#agent.destroy())
    return engine
  }

  constructor(name: Engine, url: string, setNextId: (id: number) => Promise<unknown>) {
    this.name = name
    this.#url = url
    this.#setNextId = setNextId
  }

  /** Lets the ids go on from here. */
  async setNextId(id: number): Promise<void> {
    await this.#setNextId(id)
    this.#lastId = id - 1
  }

  /** Begins a sequence, without any books. */
  async reset(): Promise<void> {
    if (Date.now() > this.#tokenSince + TOKEN_USE) {
      this.#token = await logIn(this.#url)
      this.#tokenSince = Date.now()
    }
    const { body } = await this.#send('GET', '/books')
    const { data } = JSON.parse(body) as { data: { id: number }[] }
    await Promise.all(data.map(({ id }) => this.#send('DELETE', `/book/${id}`)))
    this.#created = []
  }

  /** @returns what has to be the same on every engine: the response, or those of all pages. */
  async make(request: Request): Promise<Answer[]> {
    if (request.kind === 'create') return [await this.#create(request.body)]
    if (request.kind === 'path') return [this.#comparable(await this.#send(request.method, request.path))]
    if (request.kind === 'book') return [await this.#ofBook(request)]
    const pages: Answer[] = []
    for (let path: string | undefined = request.path; path !== undefined; ) {
      const response = await this.#send('GET', path)
      pages.push(this.#comparable(response))
      const [, next] = /^<([^>]*)>; rel="next"$/.exec(String(response.headers.link ?? '')) ?? []
      path = next && `/${request.isTampered ? tamper(next) : next}`
    }
    return pages
  }

  async #create(body: Body): Promise<Answer> {
    const response = await this.#send('POST', '/book', body)
    if (response.status === 201) {
      const { id } = (JSON.parse(response.body) as { data: { id: number } }).data
      assert.ok(id > this.#lastId, `${this.name} gave the id ${id} after ${this.#lastId}`)
      this.#lastId = id
      this.#created.push({ id, tag: response.headers.etag ?? NO_TAG })
    }
    return this.#comparable(response)
  }

  async #ofBook({ method, target, body, condition }: OfBook): Promise<Answer> {
    const book = typeof target === 'number' ? this.#created[target] : undefined
    const path = `/book/${typeof target === 'string' ? target : (book?.id ?? NO_BOOK)}`
    const headers = condition && { [condition.field]: await this.#tag(condition, path, book?.tag) }
    return this.#comparable(await this.#send(method, path, body, headers))
  }

  async #tag({ tag }: Condition, path: string, created = NO_TAG): Promise<string> {
    if (tag === 'now') return (await this.#send('GET', path)).headers.etag ?? NO_TAG
    return tag === 'created' ? created : NO_TAG
  }

  /** The text itself is compared, so that every character and every digit counts. */
  #comparable({ status, headers, body }: Answer): Answer {
    return {
      status,
      headers: Object.fromEntries(COMPARED_HEADERS.map((name) => [name, headers[name]])),
      body: body.replaceAll(/\{"id":(\d+),"title":/g, (_, id) => {
        const number = this.#created.findIndex((book) => book.id === Number(id))
        assert.notEqual(number, -1, `${this.name} answers with the id ${id}, which it has not given`)
        return `{"id":#${number},"title":`
      }),
    }
  }

  async #send(
    method: string,
    path: string,
    body?: Body,
    conditions?: Record<string, string>,
  ): Promise<Answer> {
    const headers = {
      authorization: this.#token,
      ...conditions,
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    }
    return new Promise((resolve, reject) => {
      const sent = request(this.#url + path, { method, headers, agent: this.#agent }, (response) => {
        const { statusCode: status, headers } = response
        text(response).then((body) => resolve({ status, headers, body }), reject)
      })
      sent.on('error', reject).end(body)
    })
  }
}

/** The path with another cursor than the one in it. */
const tamper = (path: string) =>
  path.replace(/([?&]after=)(.)/, (_, name, first) => name + (first === 'A' ? 'B' : 'A'))
