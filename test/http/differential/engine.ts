import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Databases } from '../../support/database-server.ts'
import type { Engine } from '../../support/engines.ts'
import { startService, temporaryDirectory } from '../../support/service.ts'
import { EXP, expiringAt } from '../../support/tokens.ts'
import type { Condition, OfBook, Request } from './requests.ts'

/** What engines have to answer alike, with numbers that all of them share in the place of ids. */
interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | null>>
  readonly body: string
}

/** An id that no book has. */
const NO_BOOK = 2 ** 50

/** An entity tag that no book has. */
const NO_TAG = '"none"'

const TOKEN = expiringAt(EXP)

const COMPARED_HEADERS = [
  ...['content-type', 'retry-after', 'allow', 'cache-control', 'www-authenticate', 'connection', 'etag'],
  'x-total-count',
]

/** The service on one engine, and the books of a sequence. */
export type EngineInUse = Awaited<ReturnType<typeof startEngine>>

/**
 * Starts the service on a new database, and gives everything up to the stack.
 * @param databases the server, of an engine that is one.
 */
export async function startEngine(name: Engine, stack: AsyncDisposableStack, databases?: Databases) {
  const directory = temporaryDirectory()
  stack.defer(directory.remove)
  const DB_URL = (await databases?.createDatabase()) ?? 'sqlite:books.db'
  stack.defer(async () => databases?.dropDatabase(DB_URL))
  const service = await startService(directory.path, { DB_URL })
  stack.defer(async () => void (await service.stop()))
  /** The ids of the creations of a sequence, in their order, and the entity tags that the books had then. */
  let created: { readonly id: number; readonly tag: string }[] = []
  /** No book ever had a higher id. */
  let lastId = 0

  /** Lets the ids go on from here. */
  async function setNextId(id: number): Promise<void> {
    lastId = id - 1
    if (databases !== undefined) {
      const change = databases.engine === 'mysql' ? 'AUTO_INCREMENT = ' : 'ALTER id RESTART WITH '
      await databases.query(`ALTER TABLE books ${change}${id}`, DB_URL)
      return
    }
    using database = new DatabaseSync(join(directory.path, 'books.db'), { timeout: 60_000 })
    database.exec("DELETE FROM sqlite_sequence WHERE name = 'books'")
    database.exec(`INSERT INTO sqlite_sequence (name, seq) VALUES ('books', ${lastId})`)
  }

  /** Begins a sequence, without any books. */
  async function reset(): Promise<void> {
    const { data } = JSON.parse((await send('GET', '/books')).body) as { data: { id: number }[] }
    await Promise.all(data.map(({ id }) => send('DELETE', `/book/${id}`)))
    created = []
  }

  /** @returns what has to be the same on every engine: the response, or those of all pages. */
  async function make(request: Request): Promise<Answer[]> {
    if (request.kind === 'create') return [await create(request.body)]
    if (request.kind === 'book') return [await ofBook(request)]
    const pages: Answer[] = []
    for (let path: string | undefined = request.path; path !== undefined; ) {
      const response = await send('GET', path)
      pages.push(comparable(response))
      const [, next] = /^<([^>]*)>; rel="next"$/.exec(response.headers.link ?? '') ?? []
      path = next && `/${request.isTampered ? tamper(next) : next}`
    }
    return pages
  }

  async function create(body: string): Promise<Answer> {
    const response = await send('POST', '/book', body)
    if (response.status === 201) {
      const { id } = (JSON.parse(response.body) as { data: { id: number } }).data
      assert.ok(id > lastId, `${name} gave the id ${id} after ${lastId}`)
      lastId = id
      created.push({ id, tag: response.headers.etag ?? NO_TAG })
    }
    return comparable(response)
  }

  async function ofBook({ method, target, body, condition }: OfBook): Promise<Answer> {
    const book = typeof target === 'number' ? created[target] : undefined
    const path = `/book/${typeof target === 'string' ? target : (book?.id ?? NO_BOOK)}`
    const headers = condition && { [condition.field]: await tagOf(condition, path, book?.tag) }
    return comparable(await send(method, path, body, headers))
  }

  async function tagOf({ tag }: Condition, path: string, ofCreation = NO_TAG): Promise<string> {
    if (tag === 'now') return (await send('GET', path)).headers.etag ?? NO_TAG
    return tag === 'created' ? ofCreation : NO_TAG
  }

  /** The text itself is compared, so that every character and every digit counts. */
  function comparable({ status, headers, body }: Answer): Answer {
    return {
      status,
      headers: Object.fromEntries(COMPARED_HEADERS.map((name) => [name, headers[name] ?? null])),
      body: body.replaceAll(/\{"id":(\d+),"title":/g, (_, id) => {
        const number = created.findIndex((book) => book.id === Number(id))
        assert.notEqual(number, -1, `${name} answers with the id ${id}, which it has not given`)
        return `{"id":#${number},"title":`
      }),
    }
  }

  async function send(
    method: string,
    path: string,
    body: string | null = null,
    conditions?: Record<string, string>,
  ): Promise<Answer> {
    const headers = { authorization: TOKEN, ...conditions }
    const response = await fetch(service.url + path, { method, headers, body })
    const { status } = response
    return { status, headers: Object.fromEntries(response.headers), body: await response.text() }
  }

  return { name, setNextId, reset, make }
}

/** The path with another cursor than the one in it. */
const tamper = (path: string) =>
  path.replace(/([?&]after=)(.)/, (_, name, first) => name + (first === 'A' ? 'B' : 'A'))
