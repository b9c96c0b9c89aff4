import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { temporaryDirectory } from '../support/service.ts'
import { Caller } from './caller.ts'
import { serve } from './engine-servers.ts'
import { raiseYears } from './racing.ts'

/** Who edit at once, through each of two instances; together more than an instance has connections to its database. */
const EDITORS = 6

/** Edits of each; more of them by hand. */
const EDITS = Number(process.env.RACING_EDITS ?? 4)

for (const engine of ENGINES)
  describe(`people who edit the same books through two instances (${engine})`, {
    skip: engineMissing(engine),
  }, () => {
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)

    it(`${2 * EDITORS * EDITS} edits with If-Match: none is lost`, async (t) => {
      const directory = temporaryDirectory()
      t.after(directory.remove)
      const url = databases ? await (await databases()).createDatabase() : `sqlite:${directory.path}/books.db`
      const callers = [new Caller(await serve(t, url)), new Caller(await serve(t, url))] as const
      const ids: number[] = []
      // Few, so that the editors meet.
      for (let i = 0; i < 4; i++) ids.push(await callers[0].create(''))
      const editors = callers.flatMap((caller) => Array<Caller>(EDITORS).fill(caller))
      const { edited, refused } = await raiseYears(editors, ids, EDITS)
      assert.equal(refused, 0)
      const byBook = Map.groupBy(edited, ({ id }) => id)
      for (const id of ids) {
        const books = (byBook.get(id) ?? []).toSorted((a, b) => a.year - b.year)
        // Each edit raises the year by one, from 1: of two that did so from the same book, one is lost.
        assert.deepEqual(
          books.map(({ year }) => year),
          books.map((_, i) => i + 2),
        )
        assert.deepEqual(await callers[0].ok(`GET /book/${id}`), books.at(-1))
      }
    })
  })
