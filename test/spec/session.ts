import { after, before } from 'node:test'
import { assertResponse, type Book, call, logIn, type Options, type Reply, type Target } from './client.ts'

export const NOVEL = { title: 'The Left Hand of Darkness', author: 'Ursula K. Le Guin', year: 1969 }

/**
 * To be called in a `describe`: logs in before its tests, and after them deletes the books that they created, so
 * that a catalogue in use is left as it was.
 */
export function useSession(target: Target): Session {
  const session = new Session(target)
  before(async () => {
    session.token = await logIn(target)
  })
  after(async () => {
    for (const id of session.created) await session.remove(id)
  })
  return session
}

class Session {
  readonly #target: Target
  readonly created = new Set<number>()
  token = ''

  constructor(target: Target) {
    this.#target = target
  }

  /** Sends a request, with the token of this session unless the options have another. */
  async call<Data = unknown>(method: string, path: string, options: Options = {}): Promise<Reply<Data>> {
    const reply = await call<Data>(this.#target, method, path, { token: this.token, ...options })
    if (reply.status === 201) this.created.add((reply.body.data as Book).id)
    // Deleted once only, because a service may give the id again, to a book of somebody else.
    if (method === 'DELETE' && reply.status === 200) this.created.delete(Number(path.split('/').at(-1)))
    return reply
  }

  /** Sends a request whose response may have no body, or a file. */
  fetch(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
    return fetch(this.#target.url + path, { method, headers: { authorization: this.token, ...headers } })
  }

  /** Sends a request as `call` does, and checks the response, to the character. */
  async expect<Data = unknown>(
    method: string,
    path: string,
    options: Options,
    status: number,
    message: string,
    data?: Data,
  ): Promise<Reply<Data>> {
    const reply = await this.call<Data>(method, path, options)
    assertResponse(reply, status, message, data)
    return reply
  }

  /** Creates a book and answers it as stored. */
  async create(fields: Partial<Omit<Book, 'id'>> = {}): Promise<Book> {
    const json = { ...NOVEL, ...fields }
    return (await this.expect<Book>('POST', '/book', { json }, 201, 'Book created successfully')).body.data
  }

  /** Updates a book, and checks that the response has it as expected. */
  async update(id: number, json: object, expected?: Book): Promise<void> {
    await this.expect('PUT', `/book/${id}`, { json }, 200, 'Book updated successfully', expected)
  }

  async remove(id: number): Promise<void> {
    await this.expect('DELETE', `/book/${id}`, {}, 200, 'Book deleted successfully', null)
  }

  /** Checks that a book can be read and is stored as given. */
  async assertStored(book: Book): Promise<void> {
    await this.expect('GET', `/book/${book.id}`, {}, 200, 'Book retrieved successfully', book)
  }

  /** The list of all books. */
  async list(): Promise<Book[]> {
    return (await this.expect<Book[]>('GET', '/books', {}, 200, 'Books retrieved successfully')).body.data
  }

  /** An id that no book has: that of a book just deleted. */
  async missingId(): Promise<number> {
    const { id } = await this.create()
    await this.remove(id)
    return id
  }
}
