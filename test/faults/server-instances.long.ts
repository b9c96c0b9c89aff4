import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Book } from '../../src/catalogue/book.ts'
import { earlierTable } from '../store/earlier-schemas.ts'
import type { Databases } from '../support/database-server.ts'
import { nameIn, withTls } from '../support/database-url.ts'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { Caller, failuresIn } from './caller.ts'
import { readRows, SERVER_ENGINES, serve } from './engine-servers.ts'
import { Network } from './network.ts'

const INSTANCES = 8

/** Books that are there before the upgrade: more than are indexed in one step. */
const OLD_BOOKS = 500
const STARTS = Number(process.env.INSTANCE_STARTS ?? 3)

/** Changes of each field, which there are three of. */
const CHANGES = Math.ceil(Number(process.env.RACING_PUTS ?? 1000) / 3)

for (const engine of SERVER_ENGINES) {
  describe(`instances on one database (${engine})`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)

    for (let start = 1; start <= STARTS; start++) {
      it(`${INSTANCES} that start at once on an empty database all work, start ${start}`, async (t) => {
        await startAtOnce(t, await databases())
      })
    }

    it(`${INSTANCES} that start at once on a table of the earlier release all work, and find its books`, async (t) => {
      const prepare = (name: string) => earlierTable(engine, name, OLD_BOOKS)
      const callers = await startAtOnce(t, await databases(), prepare)
      for (const caller of callers) {
        const found = await caller.ok<Book[]>('GET /books?q=earlier&sort=-year&limit=2')
        assert.deepEqual(
          found.map(({ id }) => id),
          [OLD_BOOKS, OLD_BOOKS - 1],
        )
      }
    })

    it(`${3 * CHANGES} changes of different fields at once: none is lost`, async (t) => {
      const on = await databases()
      const url = await on.createDatabase()
      const writers = []
      for (const field of ['title', 'author', 'year'] as const) {
        writers.push({ field, caller: new Caller(await serve(t, url)) })
      }
      const id = await writers[0]?.caller.create('0')
      const path = `/book/${id}`
      await writers[1]?.caller.ok(`PUT ${path}`, { author: '0', year: 0 })
      await Promise.all(
        writers.map(async ({ field, caller }) => {
          let before = { title: 0, author: 0, year: 0 }
          for (let n = 1; n <= CHANGES; n++) {
            const change = { [field]: field === 'year' ? n : String(n) }
            const now = numbers(await caller.ok<Book>(`PUT ${path}`, change))
            assert.equal(now[field], n, 'the response is not what was written')
            for (const other of ['title', 'author', 'year'] as const)
              assert.ok(
                now[other] >= before[other],
                `${other} went back from ${before[other]} to ${now[other]}`,
              )
            before = now
          }
        }),
      )
      const [book] = await readRows(on, url)
      assert.ok(book !== undefined)
      assert.deepEqual(numbers(book), { title: CHANGES, author: CHANGES, year: CHANGES })
    })
  })
}

/** @param prepare what is done in the database before, by its name. */
async function startAtOnce(
  t: TestContext,
  on: Databases,
  prepare: (name: string) => readonly string[] = () => [],
): Promise<Caller[]> {
  const network = await Network.open(on)
  t.after(() => network[Symbol.asyncDispose]())
  network.gather(INSTANCES)
  const url = await on.createDatabase()
  for (const statement of prepare(nameIn(url))) await on.query(statement, url)
  // Without it each would first try to encrypt, on a connection of its own.
  const through = withTls(network.url(url), 'disable')
  const starting = Array.from({ length: INSTANCES }, () => serve(t, through))
  // Those that start are known, and ended, even when others do not.
  await Promise.allSettled(starting)
  const services = await Promise.all(starting)
  const callers = services.map((service) => new Caller(service))
  const ids = await Promise.all(callers.map(create))
  const rows = await readRows(on, url)
  assert.deepEqual(
    rows.map((row) => row.id).slice(-INSTANCES),
    ids.toSorted((a, b) => a - b),
  )
  for (const caller of callers) assert.deepEqual(await caller.ok('GET /books'), rows)
  for (const service of services) assert.deepEqual(failuresIn(service), [])
  return callers
}

/** Creates a book. A service that is late just after its start refuses it, without a failure in its log. */
async function create(caller: Caller): Promise<number> {
  for (;;) {
    const response = await caller.call('POST /book', { title: 'T', author: 'A', year: 1 })
    if (response.status !== 503 || response.headers.get('x-stored') !== 'no') {
      assert.equal(response.status, 201, response.body)
      return JSON.parse(response.body).data.id
    }
    await setTimeout(100)
  }
}

/** The fields as numbers, which count the changes. */
function numbers({ title, author, year }: Book) {
  return { title: Number(title), author: Number(author), year }
}
