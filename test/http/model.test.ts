import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import fc from 'fast-check'
import type { Book, BookChanges, NewBook } from '../../src/catalogue/book.ts'
import { entityTag } from '../../src/http/conditional-requests.ts'
import { logIn } from '../support/client.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'

const RUNS = Number(process.env.MODEL_RUNS ?? 5)

/** For the runs and, after a failure, for making it smaller, in milliseconds: many times what the runs need. */
const TIME = 60_000 + RUNS * 2000

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }).filter((value) => !value.includes('\0')),
  fc.constantFrom('', ' ', "'; --", '\u2028', '"\\', 'x'.repeat(5000)),
)
const fields = { title: text, author: text, year: fc.maxSafeInteger() }
const some = <Value>(of: fc.Arbitrary<Value>, maxLength: number) => fc.array(of, { maxLength })

/** What a client does with a book, named by a number that is reduced to one of the books that there are or were. */
interface Action {
  readonly kind: 'read' | 'update' | 'delete'
  readonly which: number
  readonly changes: BookChanges
  /** A precondition, and whether its entity tag is that of the book now, or of the book before its last change. */
  readonly condition: 'none' | 'if-match' | 'if-none-match'
  readonly isTagCurrent: boolean
}
const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom('read', 'update', 'update', 'delete'),
  which: fc.nat(99),
  changes: fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<BookChanges>,
  condition: fc.constantFrom('none', 'none', 'if-match', 'if-none-match'),
  isTagCurrent: fc.boolean(),
})

/** Creations and actions that are done at once, each action to another book; the whole list; or the service stopped and started again. */
const step = fc.oneof(
  { weight: 20, arbitrary: fc.record({ creations: some(fc.record(fields), 3), actions: some(action, 6) }) },
  { weight: 5, arbitrary: fc.constant('list' as const) },
  { weight: 1, arbitrary: fc.constantFrom('SIGTERM' as const, 'SIGKILL' as const) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

const directory = temporaryDirectory()
let service: Service
let token: string
/** The model: the books that there are. */
const model = new Map<number, Book>()
/** The entity tags that the books had before their last change. */
const tagsBefore = new Map<number, string>()
/** Every id that was ever given, over all restarts. */
const given = new Set<number>()

before(start)
after(async () => {
  await service.stop()
  directory.remove()
})

async function start(): Promise<void> {
  service = await startService(directory.path)
  token = await logIn(service.url)
}

async function call(method: string, path: string, body?: object, conditions = {}): Promise<unknown> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) }
  const headers = { authorization: token, ...conditions }
  const response = await fetch(service.url + path, { method, headers, ...init })
  if (response.status === 304) return [304, await response.text(), response.headers.get('etag')]
  const answer = (await response.json()) as { status: number }
  assert.equal(response.status, answer.status)
  return answer
}

const REQUESTS = {
  read: ['GET', 'Book retrieved successfully'],
  update: ['PUT', 'Book updated successfully'],
  delete: ['DELETE', 'Book deleted successfully'],
} as const

/** Does the action and checks the response against the model, which it brings up to date. */
async function act({ kind, changes, condition, isTagCurrent }: Action, id: number): Promise<void> {
  const book = model.get(id)
  const now = book === undefined ? '"none"' : entityTag(book)
  const tag = isTagCurrent ? now : (tagsBefore.get(id) ?? '"never"')
  const isRefused = condition !== 'none' && (tag === now) === (condition === 'if-none-match')
  const conditions = condition === 'none' ? {} : { [condition]: tag }
  const [method, message] = REQUESTS[kind]
  const response = await call(method, `/book/${id}`, kind === 'update' ? changes : undefined, conditions)
  if (book === undefined)
    return assert.deepEqual(response, { status: 404, message: 'Book not found', data: null })
  if (isRefused && kind === 'read' && condition === 'if-none-match')
    return assert.deepEqual(response, [304, '', now])
  if (isRefused)
    return assert.deepEqual(response, { status: 412, message: 'Precondition failed', data: null })
  const updated = kind === 'update' ? { ...book, ...changes } : book
  if (kind === 'update') tagsBefore.set(id, now)
  if (kind === 'delete') model.delete(id)
  else model.set(id, updated)
  assert.deepEqual(response, { status: 200, message, data: kind === 'delete' ? null : updated })
}

async function create(book: NewBook): Promise<void> {
  const response = (await call('POST', '/book', book)) as { data: Book }
  const { id } = response.data
  assert.deepEqual(response, { status: 201, message: 'Book created successfully', data: { id, ...book } })
  assert.ok(!given.has(id), `the id ${id} was given twice`)
  given.add(id)
  model.set(id, { id, ...book })
}

async function compareList(): Promise<void> {
  const data = [...model.values()].toSorted((a, b) => a.id - b.id)
  const expected = { status: 200, message: 'Books retrieved successfully', data }
  assert.deepEqual(await call('GET', '/books'), expected)
}

/** All have ended when one has failed, so that they do not disturb what comes next. */
async function together(acts: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(acts)) if (result.status === 'rejected') throw result.reason
}

async function run(steps: readonly Step[]): Promise<void> {
  // A run begins without books; ids go on, because the service must not forget them.
  const { data } = (await call('GET', '/books')) as { data: Book[] }
  await Promise.all(data.map(({ id }) => call('DELETE', `/book/${id}`)))
  model.clear()
  const givenBefore = new Set(given)
  for (const step of steps) {
    if (step === 'list') await compareList()
    else if (typeof step === 'string') {
      await service.stop(step)
      await start()
    } else {
      // Also an id that no book has had yet. Each of the actions is to a book of its own, so that its response is known.
      const ids = [...given.difference(givenBefore), Math.max(0, ...given) + 1000]
      const byId = new Map(step.actions.map((action) => [ids[action.which % ids.length] ?? 0, action]))
      await together([...step.creations.map(create), ...Array.from(byId, ([id, action]) => act(action, id))])
    }
  }
  await compareList()
}

it(`the service does what a map of books does, over restarts and crashes (${RUNS} runs)`, async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 30, size: 'max' })
  await fc.assert(fc.asyncProperty(steps, run), {
    numRuns: RUNS,
    interruptAfterTimeLimit: TIME,
    markInterruptAsFailure: true,
  })
})
