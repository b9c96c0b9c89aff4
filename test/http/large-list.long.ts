import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { after, describe, it } from 'node:test'
import { ENGINES, type Engine, engineMissing, useDatabases } from '../support/engines.ts'
import { useService } from '../support/use-service.ts'

/** How many books there are: on a server fewer, which is enough to see them in the memory if they are held. */
const BOOKS: Readonly<Record<Engine, number>> = { sqlite: 1_000_000, postgres: 300_000, mysql: 300_000 }

/** What the memory of the service may rise by while it answers, in MiB. */
const RISE = 64

/** In the SQL that all engines share. */
const FILL = (books: number) => `
  INSERT INTO books (title, author, year)
  WITH digit (d) AS (${Array.from({ length: 10 }, (_, d) => `SELECT ${d}`).join(' UNION ALL ')}),
    number (i) AS (
      SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d
      FROM digit a, digit b, digit c, digit d, digit e, digit f
    )
  SELECT CONCAT('The title of book number ', i), CONCAT('Author ', i % 5000), i % 2000
  FROM number WHERE i < ${books}`

const noProc = existsSync('/proc/self/status') ? false : 'needs /proc to see the memory of another process'

for (const engine of ENGINES)
  describe(`GET /books of many books on ${engine}`, { skip: noProc || engineMissing(engine) }, () => {
    const books = BOOKS[engine]
    let url: string | undefined
    const service = useService(
      async (started) => {
        // Behind the back of the service, because that is fast.
        if (url !== undefined) await (await databases?.())?.query(FILL(books), url)
        else {
          using database = new DatabaseSync(join(started.directory, 'books.db'), { timeout: 60_000 })
          database.exec(FILL(books))
        }
        // What any list needs is no part of the rise: code, and room for garbage.
        for (let i = 0; i < 50; i++) await (await get('/books?limit=1000')).text()
      },
      async () => {
        url = await (await databases?.())?.createDatabase()
        return url === undefined ? {} : { DB_URL: url }
      },
    )
    after(async () => {
      if (url !== undefined) await (await databases?.())?.dropDatabase(url)
    })
    // Ends the server after the hook above.
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)

    const get = (path: string, accept = 'application/json') =>
      fetch(service.url + path, { headers: { authorization: service.token, accept } })
    /** How much more memory the service has than before, in MiB. */
    const rise = (before: number) => Math.round((service.memory('VmRSS') - before) / 2 ** 20)

    it('sends them all in order, keeps the memory flat, and answers single reads meanwhile', async () => {
      const idle = service.memory('VmRSS')
      let highest = 0
      let reads = 0
      let isDone = false
      const readSingly = async () => {
        while (!isDone) {
          const response = await get(`/book/${reads + 1}`)
          await response.arrayBuffer()
          highest = Math.max(highest, rise(idle))
          // Other programs may keep the service from the processors, and then it refuses for a moment.
          if (response.status === 503) continue
          assert.equal(response.status, 200)
          reads++
        }
      }
      const reading = readSingly()
      const response = await get('/books', 'application/x-ndjson')
      let [count, last] = [0, 0]
      for await (const line of createInterface(Readable.from(response.body ?? []))) {
        const id = Number(/^\{"id":(\d+),.*\}$/.exec(line)?.[1])
        assert.ok(id > last, `${line} after book ${last}`)
        last = id
        count++
      }
      isDone = true
      await reading
      assert.equal(count, books)
      assert.ok(reads > 20, `only ${reads} single reads were answered meanwhile`)
      assert.ok(highest < RISE, `the memory rose by ${highest} MiB`)
    })
  })
