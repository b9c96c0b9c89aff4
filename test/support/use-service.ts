import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before } from 'node:test'
import type { Book, NewBook } from '../../src/catalogue/book.ts'
import { logIn } from './client.ts'
import { type Service, startService, temporaryDirectory } from './service.ts'

/**
 * To be called in a file or a `describe`: a service on a new database in a directory of its own, logged in, from
 * before the tests there until after them.
 * @param prepare what to do with it before the first test.
 * @param settings beside those of the tests, or instead of them; or what makes them.
 * @param wrapper as for spawnService.
 */
export function useService(
  prepare?: (service: ServiceInUse) => Promise<unknown>,
  settings: Settings | (() => Promise<Settings>) = {},
  wrapper: readonly string[] = [],
): ServiceInUse {
  const service = new ServiceInUse(settings, wrapper)
  before(async () => {
    await service.start()
    await prepare?.(service)
  })
  after(() => service.end())
  return service
}

type Settings = Record<string, string>

export class ServiceInUse {
  readonly #directory = temporaryDirectory()
  readonly #settings: Settings | (() => Promise<Settings>)
  readonly #wrapper: readonly string[]
  #service: Service | undefined
  #token = ''

  constructor(settings: Settings | (() => Promise<Settings>), wrapper: readonly string[]) {
    this.#settings = settings
    this.#wrapper = wrapper
  }

  async start(): Promise<void> {
    const settings = typeof this.#settings === 'function' ? await this.#settings() : this.#settings
    this.#service = await startService(this.#directory.path, settings, [], this.#wrapper)
    this.#token = await logIn(this.url)
  }

  async end(): Promise<void> {
    // A test that failed may have left it standing still.
    this.thaw()
    await this.#service?.stop()
    this.#directory.remove()
  }

  get directory(): string {
    return this.#directory.path
  }

  get url(): string {
    return this.#started.url
  }

  /** Of its process. */
  get pid(): number {
    return this.#started.process.pid ?? assert.fail('it has no process')
  }

  /** The memory that its process has, or at most has had, in bytes. */
  memory(which: 'VmRSS' | 'VmHWM'): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8')
    return Number(new RegExp(`${which}:\\s+(\\d+)`).exec(status)?.[1]) * 1024
  }

  /** Stops its process until `thaw`. Meanwhile the system takes what clients send. */
  freeze(): void {
    this.#service?.process.kill('SIGSTOP')
  }

  thaw(): void {
    this.#service?.process.kill('SIGCONT')
  }

  /** What the service has written so far. */
  output(): string {
    return this.#service?.output() ?? ''
  }

  get #started(): Service {
    return this.#service ?? assert.fail('the service has not been started yet')
  }

  get token(): string {
    return this.#token
  }

  /** Creates a book. @returns its id. */
  async createBook(book: Partial<NewBook> = {}): Promise<number> {
    const { id } = await this.#call<Book>('POST', '/book', { title: 'T', author: 'A', year: 1, ...book })
    return id
  }

  readBook(id: number): Promise<Book> {
    return this.#call('GET', `/book/${id}`)
  }

  /** Changes a book as somebody else does. */
  updateBook(id: number, changes: Partial<NewBook>): Promise<Book> {
    return this.#call('PUT', `/book/${id}`, changes)
  }

  /** Deletes a book as somebody else does. */
  deleteBook(id: number): Promise<null> {
    return this.#call('DELETE', `/book/${id}`)
  }

  /** @param query such as `author=A`. */
  listBooks(query = ''): Promise<Book[]> {
    return this.#call('GET', `/books?${query}`)
  }

  async importBooks(books: readonly NewBook[]): Promise<void> {
    const headers = { authorization: this.#token, 'content-type': 'application/x-ndjson' }
    const body = books.map((book) => JSON.stringify(book)).join('\n')
    const response = await fetch(`${this.url}/books/import`, { method: 'POST', headers, body })
    assert.equal(response.status, 200)
  }

  async #call<Data>(method: string, path: string, body?: object): Promise<Data> {
    const headers = { authorization: this.#token }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(this.url + path, { method, headers, ...sent })
    const { data } = (await response.json()) as { data: Data }
    assert.ok(response.ok, `${method} ${path}: ${response.status}`)
    return data
  }
}
