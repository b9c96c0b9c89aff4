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

/** What one client does. It names a book by a number that is reduced to one of the books there are or were. */
type Action =
  | { readonly kind: 'create'; readonly book: NewBook }
  | {
      readonly kind: 'update'
      readonly which: number
      readonly changes: BookChanges
      readonly condition: Condition
    }
  | { readonly kind: 'read' | 'delete'; readonly which: number; readonly condition: Condition }

/** A condition, with the entity tag of the book now or as it was before its last change. */
type Condition = 'none' | 'If-Match now' | 'If-Match before' | 'If-None-Match now' | 'If-None-Match before'

/** What is done at once, each action to another book; the whole list; or the service stopped and started again. */
type Step = readonly Action[] | 'list' | 'SIGTERM' | 'SIGKILL'

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }).filter((value) => !value.includes('\0')),
  fc.constantFrom('', ' ', "'; --", '\u2028', '"\\', 'x'.repeat(5000)),
)
const newBook: fc.Arbitrary<NewBook> = fc.record({ title: text, author: text, year: fc.maxSafeInteger() })
const changes = fc.record(
  { title: text, author: text, year: fc.maxSafeInteger() },
  { requiredKeys: [] },
) as fc.Arbitrary<BookChanges>
const which = fc.nat(99)
const condition = fc.constantFrom<Condition>(
  ...(['none', 'none', 'none', 'none'] as const),
  ...(['If-Match now', 'If-Match before', 'If-None-Match now', 'If-None-Match before'] as const),
)
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('create'), book: newBook }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('update'), which, changes, condition }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('read', 'delete'), which, condition }) },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 20, arbitrary: fc.array(action, { minLength: 1, maxLength: 8 }) },
  { weight: 5, arbitrary: fc.constant('list') },
  { weight: 1, arbitrary: fc.constantFrom('SIGTERM', 'SIGKILL') },
)

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
  if (response.status === 304)
    return { status: 304, text: await response.text(), tag: response.headers.get('etag') }
  const answer = (await response.json()) as { status: number }
  assert.equal(response.status, answer.status)
  return answer
}

/** The header of a condition, and whether the request passes. */
function evaluate(condition: Condition, id: number): { conditions: object; passes: boolean } {
  const book = model.get(id)
  const now = book === undefined ? '"none"' : entityTag(book)
  const tag = condition.endsWith('now') ? now : (tagsBefore.get(id) ?? '"never"')
  if (condition === 'none') return { conditions: {}, passes: true }
  if (condition.startsWith('If-Match')) return { conditions: { 'if-match': tag }, passes: tag === now }
  return { conditions: { 'if-none-match': tag }, passes: tag !== now }
}

const refused = { status: 412, message: 'Precondition failed', data: null }
const notFound = { status: 404, message: 'Book not found', data: null }
const updated = (data: Book) => ({ status: 200, message: 'Book updated successfully', data })

/** Does the action and checks the response against the model, which it brings up to date. */
async function act(action: Action, id: number): Promise<void> {
  if (action.kind === 'create') return create(action.book)
  const path = `/book/${id}`
  const book = model.get(id)
  const { conditions, passes } = evaluate('condition' in action ? action.condition : 'none', id)
  switch (action.kind) {
    case 'read': {
      const response = await call('GET', path, undefined, conditions)
      if (book === undefined) return assert.deepEqual(response, notFound)
      if (passes) {
        return assert.deepEqual(response, { status: 200, message: 'Book retrieved successfully', data: book })
      }
      const isMatch = 'if-match' in conditions
      return assert.deepEqual(response, isMatch ? refused : { status: 304, text: '', tag: entityTag(book) })
    }
    case 'update': {
      const answer = await call('PUT', path, action.changes, conditions)
      if (book === undefined) return assert.deepEqual(answer, notFound)
      if (!passes) return assert.deepEqual(answer, refused)
      tagsBefore.set(id, entityTag(book))
      model.set(id, { ...book, ...action.changes })
      return assert.deepEqual(answer, updated({ ...book, ...action.changes }))
    }
    case 'delete': {
      const answer = await call('DELETE', path, undefined, conditions)
      if (book === undefined) return assert.deepEqual(answer, notFound)
      if (!passes) return assert.deepEqual(answer, refused)
      model.delete(id)
      return assert.deepEqual(answer, { status: 200, message: 'Book deleted successfully', data: null })
    }
  }
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
  assert.deepEqual(await call('GET', '/books'), {
    status: 200,
    message: 'Books retrieved successfully',
    data,
  })
}

/** Several clients at once, each at a book of its own, so that every response is known. */
async function actTogether(actions: readonly Action[], ids: readonly number[]): Promise<void> {
  const taken = new Set<number>()
  const acts: Promise<void>[] = []
  for (const action of actions) {
    const id = 'which' in action ? (ids[action.which % ids.length] ?? 0) : 0
    if (action.kind !== 'create' && taken.has(id)) continue
    taken.add(id)
    acts.push(act(action, id))
  }
  const results = await Promise.allSettled(acts)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

async function run(steps: readonly Step[]): Promise<void> {
  // A run begins without books; ids go on, because the service must not forget them.
  const { data } = (await call('GET', '/books')) as { data: Book[] }
  await Promise.all(data.map(({ id }) => call('DELETE', `/book/${id}`)))
  model.clear()
  const givenBefore = new Set(given)
  for (const step of steps) {
    // Also an id that no book has had yet, and that none gets while it is used.
    const ids = [...given.difference(givenBefore), Math.max(0, ...given) + 1000]
    if (step === 'list') await compareList()
    else if (typeof step !== 'string') await actTogether(step, ids)
    else {
      await service.stop(step)
      await start()
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
