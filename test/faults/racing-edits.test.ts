import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Book } from '../../src/catalogue/book.ts'
import { ENGINES, type Engine, engineMissing, useDatabases } from '../support/engines.ts'
import type { RawResponse } from '../support/raw-socket.ts'
import { type Service, temporaryDirectory } from '../support/service.ts'
import { Caller, failuresIn } from './caller.ts'
import { serve } from './engine-servers.ts'

const INSTANCES = 2

/** Who edit at once, through each instance; together more than an instance has connections to its database. */
const EDITORS = 6

/** Cycles of reading, changing and writing in all. The long form has 10,000. */
const CYCLES = Number(process.env.RACING_CYCLES ?? 120)

/** Few, so that the editors meet. */
const BOOKS = 4

for (const engine of ENGINES) {
  describe(`people who edit the same books (${engine})`, { skip: engineMissing(engine) }, () => {
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)

    it(`${CYCLES} cycles of reading, changing and writing with If-Match, through ${INSTANCES} instances: no change is lost`, async (t) => {
      const url = await newDatabase(t, engine, databases)
      const services: Service[] = []
      for (let i = 0; i < INSTANCES; i++) services.push(await serve(t, url))
      const [first] = services
      assert.ok(first)
      const creator = new Caller(first)
      const ids: number[] = []
      for (let i = 0; i < BOOKS; i++) ids.push(await creator.create(''))

      const editors = services.flatMap((service) =>
        Array.from({ length: EDITORS }, () => new Caller(service)),
      )
      const cycles = Math.ceil(CYCLES / editors.length)
      const begin = performance.now()
      const edits = await Promise.all(
        editors.map(async (editor, number) => {
          const edits: Edit[] = []
          for (let cycle = 0; cycle < cycles; cycle++) {
            edits.push(await edit(editor, ids[(number + cycle) % BOOKS] ?? 0, `${number}:${cycle}`))
          }
          return edits
        }),
      )
      const seconds = (performance.now() - begin) / 1000

      const byBook = Map.groupBy(edits.flat(), ({ book }) => book.id)
      for (const id of ids) {
        const books = (byBook.get(id) ?? []).map(({ book }) => book).toSorted((a, b) => a.year - b.year)
        // Each edit raises the year by one, from 1: of two that did so from the same book, one is lost.
        assert.deepEqual(
          books.map(({ year }) => year),
          books.map((_, i) => i + 2),
        )
        assert.deepEqual(await creator.ok(`GET /book/${id}`), books.at(-1))
      }
      for (const service of services) {
        const failures = failuresIn(service).filter(({ err }) => err && err.reason !== 'conflict')
        assert.deepEqual(failures, [])
      }
      const refused = edits.flat().reduce((sum, { refused }) => sum + refused, 0)
      assert.ok(refused > 0, 'nobody came between reading and writing: nothing is shown')
      const slowest = Math.max(...editors.map((editor) => editor.slowest))
      t.diagnostic(
        `${edits.flat().length} cycles in ${seconds.toFixed(1)} s, ${refused} times read again, slowest answer ${slowest} ms`,
      )
    })
  })
}

interface Edit {
  readonly book: Book
  /** How many times others were faster. */
  readonly refused: number
}

/** Reads a book, changes it and writes it, again and again until nobody was faster. */
async function edit(editor: Caller, id: number, title: string): Promise<Edit> {
  for (let refused = 0; ; refused++) {
    const read = await editor.call(`GET /book/${id}`)
    assert.equal(read.status, 200, read.body)
    const { year } = dataOf(read)
    const condition = { 'if-match': read.headers.get('etag') ?? '' }
    const written = await editor.call(`PUT /book/${id}`, { title, year: year + 1 }, condition)
    if (written.status === 412) continue
    // Another instance had the lock of SQLite for too long.
    if (written.status === 503 && written.headers.get('x-stored') === 'no') continue
    assert.equal(written.status, 200, written.body)
    assert.deepEqual(dataOf(written), { id, title, author: 'A', year: year + 1 })
    return { book: dataOf(written), refused }
  }
}

function dataOf({ body }: RawResponse): Book {
  return (JSON.parse(body) as { data: Book }).data
}

/** @returns the URL of a database that all instances use. */
async function newDatabase(
  t: TestContext,
  engine: Engine,
  databases: ReturnType<typeof useDatabases> | undefined,
): Promise<string> {
  if (databases !== undefined) return (await databases()).createDatabase()
  assert.equal(engine, 'sqlite')
  const directory = temporaryDirectory()
  t.after(directory.remove)
  return `sqlite:${directory.path}/books.db`
}
