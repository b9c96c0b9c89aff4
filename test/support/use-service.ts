import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { logIn } from './client.ts'
import { type Service, startService, temporaryDirectory } from './service.ts'

/**
 * To be called in a file or a `describe`: a service on a new database in a directory of its own, logged in, from
 * before the tests there until after them.
 * @param prepare what to do with it before the first test.
 */
export function useService(prepare?: (service: ServiceInUse) => Promise<unknown>): ServiceInUse {
  const service = new ServiceInUse()
  before(async () => {
    await service.start()
    await prepare?.(service)
  })
  after(() => service.end())
  return service
}

class ServiceInUse {
  readonly #directory = temporaryDirectory()
  #service: Service | undefined
  #token = ''

  async start(): Promise<void> {
    this.#service = await startService(this.#directory.path)
    this.#token = await logIn(this.url)
  }

  async end(): Promise<void> {
    await this.#service?.stop()
    this.#directory.remove()
  }

  get directory(): string {
    return this.#directory.path
  }

  get url(): string {
    if (this.#service === undefined) throw new Error('the service has not been started yet')
    return this.#service.url
  }

  /** What the service has written so far. */
  output(): string {
    return this.#service?.output() ?? ''
  }

  get token(): string {
    return this.#token
  }

  /** Creates a book and answers its id. */
  async createBook(book = { title: 'T', author: 'A', year: 1 }): Promise<number> {
    const headers = { authorization: this.#token }
    const response = await fetch(`${this.url}/book`, { method: 'POST', headers, body: JSON.stringify(book) })
    assert.equal(response.status, 201)
    return ((await response.json()) as { data: { id: number } }).data.id
  }
}
