import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import fc from 'fast-check'
import type { Book, BookChanges, NewBook } from '../../src/catalogue/book.ts'
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
}
const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom('read', 'update', 'update', 'delete'),
  which: fc.nat(99),
  changes: fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<BookChanges>,
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

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) }
  const headers = { authorization: token }
  const response = await fetch(service.url + path, { method, headers, ...init })
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
async function act({ kind, changes }: Action, id: number): Promise<void> {
  const book = model.get(id)
  const [method, message] = REQUESTS[kind]
  const response = await call(method, `/book/${id}`, kind === 'update' ? changes : undefined)
  if (book === undefined)
    return assert.deepEqual(response, { status: 404, message: 'Book not found', data: null })
  const updated = kind === 'update' ? { ...book, ...changes } : book
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
