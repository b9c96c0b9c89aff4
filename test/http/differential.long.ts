import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { hostileBook } from '../files/hostile-books.ts'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { type ServiceInUse, useService } from '../support/use-service.ts'

/** Sequences in all. */
const RUNS = Number(process.env.DIFFERENTIAL_RUNS ?? 100)

/** For all sequences and, after a failure, for making one smaller; in milliseconds. */
const TIME = 60_000 + RUNS * 2000

/** An id that no book has. */
const NO_BOOK = 2 ** 50

const COMPARED_HEADERS = [
  ...['content-type', 'retry-after', 'allow', 'cache-control', 'www-authenticate', 'connection', 'etag'],
  'x-total-count',
]

interface Request {
  readonly method: string
  /** Of a list, which is read page by page. */
  readonly path?: string
  /** The number of a book in the order of their creation. There may be none. */
  readonly target?: number
  readonly body?: object
  /** A header field, and whether it has the first entity tag of the book, the last one, or that of no book. */
  readonly condition?: readonly ['if-match' | 'if-none-match', 'first' | 'last' | 'other'] | undefined
}

/** Some that an engine may take for equal, and any. */
const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('', ' ', 'x', 'x ', 'X', 'á', 'a\u0301', '📚') },
  { weight: 1, arbitrary: hostileBook.map(({ title }) => title) },
)
const year = hostileBook.map(({ year }) => year)
const fields = { title: text, author: text, year }
const target = fc.nat(15)
const condition = fc.option(
  fc.tuple(fc.constantFrom('if-match', 'if-none-match'), fc.constantFrom('first', 'last', 'other')),
  { freq: 2, nil: undefined },
)
const create = fc.record({ method: fc.constant('POST'), body: fc.record(fields) })
const update = fc.record({
  method: fc.constant('PUT'),
  target,
  body: fc.record(fields, { requiredKeys: [] }),
  condition,
})
const other = fc.record({ method: fc.constantFrom('GET', 'GET', 'HEAD', 'DELETE'), target, condition })

const SORTS = ['id', '-id', 'title', '-title', 'author', '-author', 'year', '-year']
const sort = fc.subarray(SORTS, { minLength: 1, maxLength: 3 }).map((names) => names.join())
const parameter = fc.oneof(
  fc.tuple(fc.constant('limit'), fc.integer({ min: 1, max: 12 }).map(String)),
  fc.tuple(fc.constant('sort'), sort),
  fc.tuple(fc.constantFrom('q', 'title', 'author'), text),
  fc.tuple(fc.constantFrom('year', 'year_min', 'year_max'), year.map(String)),
  fc.tuple(fc.constant('count'), fc.constantFrom('true', 'false')),
)
const list = fc
  .uniqueArray(parameter, { selector: ([name]) => name, maxLength: 4 })
  .map((pairs) => ({ method: 'GET', path: `/books?${new URLSearchParams(pairs)}` }))

/** Requests that are made at once, of different books or alone, so that no response depends on their order. */
const step = fc.oneof(
  fc.tuple(create),
  fc.tuple(list),
  fc.uniqueArray(fc.oneof(update, other), { selector: ({ target }) => target, minLength: 1, maxLength: 8 }),
)
const sequence: fc.Arbitrary<readonly (readonly Request[])[]> = fc
  .tuple(fc.array(create, { minLength: 2, maxLength: 8 }), fc.array(step, { maxLength: 30, size: 'max' }))
  .map(([books, steps]) => [...books.map((book) => [book]), ...steps, [{ method: 'GET', path: '/books' }]])

/** The books of a sequence on one engine. */
class Books {
  readonly #service: ServiceInUse
  #ids: number[] = []
  #tags: string[][] = []

  constructor(service: ServiceInUse) {
    this.#service = service
  }

  /** Begins a sequence, without any books. */
  async reset(): Promise<void> {
    await Promise.all((await this.#service.listBooks()).map(({ id }) => this.#service.deleteBook(id)))
    this.#ids = []
    this.#tags = []
  }

  /** @returns what has to be the same on every engine: the response, or those of all pages. */
  async answers(request: Request): Promise<object[]> {
    if (request.path === undefined) return [(await this.#send('/book', request)).answer]
    const answers: object[] = []
    for (let path: string | undefined = request.path; path !== undefined; ) {
      const { answer, link } = await this.#send(path, request)
      answers.push(answer)
      const next = /^<([^>]*)>; rel="next"$/.exec(link ?? '')?.[1]
      path = next && `/${next}`
    }
    return answers
  }

  async #send(path: string, { method, target, body, condition }: Request) {
    const [field = 'if-match', which] = condition ?? []
    const tags = this.#tags[target ?? -1]
    const tag = which === 'other' ? undefined : tags?.at(which === 'first' ? 0 : -1)
    const headers = {
      authorization: this.#service.token,
      ...(which !== undefined && { [field]: tag ?? '"none"' }),
    }
    const whole = target === undefined ? path : `${path}/${this.#ids[target] ?? NO_BOOK}`
    const sent = { method, headers, body: body === undefined ? null : JSON.stringify(body) }
    const response = await fetch(this.#service.url + whole, sent)
    const text = await response.text()
    const etag = response.headers.get('etag') ?? '"none"'
    if (response.status === 201) {
      this.#ids.push(JSON.parse(text).data.id)
      this.#tags.push([etag])
    } else if (method === 'PUT' && response.ok) tags?.push(etag)
    const answer = {
      status: response.status,
      headers: COMPARED_HEADERS.map((name) => response.headers.get(name)),
      // The text itself, so that every character and every digit counts, but numbers in the place of ids.
      body: text.replaceAll(
        /\{"id":(\d+),"title":/g,
        (_, id) => `{"id":#${this.#ids.indexOf(Number(id))},"title":`,
      ),
    }
    return { answer, link: response.headers.get('link') }
  }
}

const present = ENGINES.filter((engine) => engineMissing(engine) === false)
for (const engine of ENGINES.filter((engine) => !present.includes(engine)))
  it(`${engine} answers as the others do`, { skip: engineMissing(engine) }, () => {})

const skip = present.length < 2 && `there is only ${present.join()}, which nothing can be compared with`
describe(`${present.join(', ')} answer alike`, { skip }, () => {
  const all = present.map((engine) => {
    const service = useService(undefined, async () => ({
      ...(databases && { DB_URL: await (await databases()).createDatabase() }),
    }))
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)
    return new Books(service)
  })

  async function run(steps: readonly (readonly Request[])[]): Promise<void> {
    await Promise.all(all.map((books) => books.reset()))
    for (const step of steps) {
      // All have ended when one has failed, so that they do not disturb what comes next.
      const settled = await Promise.allSettled(
        all.map((books) => Promise.all(step.map((request) => books.answers(request)))),
      )
      const [first, ...others] = settled.map((each) => {
        if (each.status === 'rejected') throw each.reason
        return each.value
      })
      for (const [i, answers] of others.entries())
        assert.deepEqual(answers, first, `${present[i + 1]} and ${present[0]}: ${JSON.stringify(step)}`)
    }
  }

  it(`whatever is sent to them (${RUNS} sequences)`, { timeout: TIME }, () =>
    fc.assert(fc.asyncProperty(sequence, run), {
      numRuns: RUNS,
      interruptAfterTimeLimit: TIME,
      markInterruptAsFailure: true,
    }),
  )
})
