import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Book } from '../../src/catalogue/book.ts'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import type { RawResponse } from '../support/raw-socket.ts'
import { temporaryDirectory } from '../support/service.ts'
import { Caller } from './caller.ts'
import { serve } from './engine-servers.ts'

const INSTANCES = 2

/** Who edit at once, through each instance; together more than an instance has connections to its database. */
const EDITORS = 6

/** Cycles of reading, changing and writing in all. The long form has 10,000. */
const CYCLES = Number(process.env.RACING_CYCLES ?? 120)

/** Few, so that the editors meet. */
const BOOKS = 4

for (const engine of ENGINES) {
  describe(`people who edit the same books through ${INSTANCES} instances (${engine})`, {
    skip: engineMissing(engine),
  }, () => {
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)

    it(`${CYCLES} cycles of reading, changing and writing with If-Match: no change is lost`, async (t) => {
      const directory = temporaryDirectory()
      t.after(directory.remove)
      const url = databases ? await (await databases()).createDatabase() : `sqlite:${directory.path}/books.db`
      const services = [await serve(t, url), await serve(t, url)]
      const editors = services.flatMap((service) => Array(EDITORS).fill(new Caller(service)) as Caller[])
      const [creator = assert.fail()] = editors
      const ids: number[] = []
      for (let i = 0; i < BOOKS; i++) ids.push(await creator.create(''))
      let lost = 0
      const edits = await Promise.all(
        editors.map(async (editor, number) => {
          const books: Book[] = []
          while (books.length < CYCLES / editors.length) {
            const id = ids[(number + books.length) % BOOKS] ?? 0
            const read = await editor.call(`GET /book/${id}`)
            const change = { title: `${number}: ${books.length}`, year: dataOf(read).year + 1 }
            const condition = { 'if-match': read.headers.get('etag') ?? '' }
            const written = await write(editor, `PUT /book/${id}`, change, condition)
            if (written.status === 412) lost++
            else {
              assert.deepEqual(dataOf(written), { id, author: 'A', ...change })
              books.push(dataOf(written))
            }
          }
          return books
        }),
      )
      const byBook = Map.groupBy(edits.flat(), ({ id }) => id)
      for (const id of ids) {
        const books = (byBook.get(id) ?? []).toSorted((a, b) => a.year - b.year)
        // Each edit raises the year by one, from 1: of two that did so from the same book, one is lost.
        assert.deepEqual(
          books.map(({ year }) => year),
          books.map((_, i) => i + 2),
        )
        assert.deepEqual(await creator.ok(`GET /book/${id}`), books.at(-1))
      }
      assert.ok(lost > 0, 'nobody came between reading and writing: nothing is shown')
    })
  })
}

/** Writes until it is not refused: another instance may have the lock of SQLite for too long. */
async function write(editor: Caller, line: string, change: object, headers: Record<string, string>) {
  for (;;) {
    const response = await editor.call(line, change, headers)
    if (response.status !== 503 || response.headers.get('x-stored') !== 'no') return response
  }
}

function dataOf({ status, body }: RawResponse): Book {
  assert.equal(status, 200, body)
  return (JSON.parse(body) as { data: Book }).data
}
