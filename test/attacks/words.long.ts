import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { KEY_INDEXES } from '../../src/store/sqlite/schema.ts'
import { logIn } from '../support/client.ts'
import { ENGINES, type Engine, engineMissing, useDatabases } from '../support/engines.ts'
import { bePolite, type PoliteReport } from '../support/polite-client.ts'
import { Refusals } from '../support/refusals.ts'
import { startService, temporaryDirectory } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

/** Of 24 kB, and of 48,000 letters each of which begins a word. */
const COSTLY = { title: '㌖'.repeat(4000), author: '㌖'.repeat(4000), year: 1 }
const COSTLY_BOOKS = 30

/** To be called in a `describe`: what makes a new database and answers its setting. */
function useDatabase(engine: Engine): () => Promise<{ DB_URL: string }> {
  if (engine === 'sqlite') return async () => ({ DB_URL: 'sqlite:books.db' })
  const made: string[] = []
  // Before the end of the server: hooks run in this order.
  after(async () => {
    for (const url of made) await (await databases()).dropDatabase(url)
  })
  const databases = useDatabases(engine)
  return async () => {
    const DB_URL = await (await databases()).createDatabase()
    made.push(DB_URL)
    return { DB_URL }
  }
}

/** @returns the ids of books that were all asked for at once. */
async function createCostlyBooks(url: string, token: string, count: number): Promise<number[]> {
  const create = async () => {
    const body = JSON.stringify(COSTLY)
    const response = await fetch(`${url}/book`, { method: 'POST', headers: { authorization: token }, body })
    assert.equal(response.status, 201)
    return ((await response.json()) as { data: { id: number } }).data.id
  }
  return Promise.all(Array.from({ length: count }, create))
}

/** Nobody waits for more than a step of the index but queries. */
function assertQuick(report: PoliteReport, refusals: Refusals): void {
  refusals.count = report.refusals
  refusals.check()
  for (const kind of ['read', 'health', 'write'] as const) assert.ok(report.max(kind) < 3000, String(report))
}

for (const engine of ENGINES)
  describe(`books with costly words, on ${engine}`, { skip: engineMissing(engine) }, () => {
    const directory = temporaryDirectory()
    after(directory.remove)
    const database = useDatabase(engine)

    it('keep nobody else waiting, are soon found, and can be deleted', async (t) => {
      const service = await startService(directory.path, await database())
      try {
        const headers = { authorization: await logIn(service.url) }
        const polite = JSON.stringify({ title: 'Polite', author: 'A', year: 1 })
        await fetch(`${service.url}/book`, { method: 'POST', headers, body: polite })
        const end = new AbortController()
        t.after(() => end.abort())
        const refusals = new Refusals(service.process)
        const client = bePolite(service.url, headers.authorization, end.signal, service.process.pid)
        const ids = await createCostlyBooks(service.url, headers.authorization, COSTLY_BOOKS)
        const search = `${service.url}/books?limit=1000&q=${encodeURIComponent('キロメ')}`
        for (;;) {
          const response = await fetch(search, { headers })
          if (response.status === 503 && (await response.arrayBuffer())) continue
          assert.equal(response.status, 200)
          const found = (await response.json()) as { data: unknown[] }
          if (response.headers.get('x-search-index') === 'incomplete') continue
          assert.equal(found.data.length, COSTLY_BOOKS)
          break
        }
        for (const id of ids)
          assert.equal((await fetch(`${service.url}/book/${id}`, { method: 'DELETE', headers })).status, 200)
        end.abort()
        const report = await client
        assert.deepEqual(report.failures, [], String(report))
        assertQuick(report, refusals)
      } finally {
        await service.stop()
      }
    })

    it('do not keep the service from ending', async () => {
      const settings = await database()
      const service = await startService(directory.path, settings)
      await createCostlyBooks(service.url, await logIn(service.url), COSTLY_BOOKS)
      // By then the index is at it.
      await setTimeout(500)
      assert.deepEqual(await service.stop(), { code: 0, signal: null })
      assert.doesNotMatch(service.output(), /without waiting/)
    })
  })

describe('an import into a catalogue', { skip: engineMissing('sqlite') }, () => {
  const BOOKS = { first: 25_000, second: 21_000 }
  const service = useService()

  const rows = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => `Title ${from + i},Author ${(from + i) % 5000},${i % 2000}`)

  const load = async (from: number, count: number) => {
    const response = await fetch(`${service.url}/books/import`, {
      method: 'POST',
      headers: { authorization: service.token, 'content-type': 'text/csv' },
      body: ['title,author,year', ...rows(from, count)].join('\n'),
    })
    assert.equal(response.status, 200)
  }

  /** Asks until the index has all books. @returns the numbers of books that were counted. */
  async function countUntilComplete(query: string): Promise<number[]> {
    const counts: number[] = []
    for (;;) {
      const headers = { authorization: service.token }
      const response = await fetch(`${service.url}/books?limit=10&count=true&${query}`, { headers })
      await response.arrayBuffer()
      if (response.status === 503) continue
      assert.equal(response.status, 200)
      counts.push(Number(response.headers.get('x-total-count')))
      if (response.headers.get('x-search-index') === null) return counts
      assert.equal(response.headers.get('x-search-index'), 'incomplete')
      await setTimeout(20)
    }
  }

  it('leaves searches as they were, says that they are incomplete, and does not hold up writes', async (t) => {
    await load(0, BOOKS.first)
    const first = await countUntilComplete('q=title&sort=-year')
    assert.ok(first.length > 1, 'the index was never behind')
    assert.equal(first.at(-1), BOOKS.first)

    using database = new DatabaseSync(join(service.directory, 'books.db'), {
      readOnly: true,
      timeout: 60_000,
    })
    const indexes = database.prepare(
      "SELECT count(*) AS there FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'book_keys'",
    )
    assert.equal(indexes.get()?.there, KEY_INDEXES.length)
    await load(BOOKS.first, BOOKS.second)
    const end = new AbortController()
    t.after(() => end.abort())
    const refusals = new Refusals(service)
    const client = bePolite(service.url, service.token, end.signal, service.pid)
    const watch = (async () => {
      let least: number = KEY_INDEXES.length
      for (; !end.signal.aborted; await setTimeout(20)) least = Math.min(least, Number(indexes.get()?.there))
      return least
    })()
    const counts = await countUntilComplete('q=author&sort=title&year_min=0')
    const statistics = `${service.url}/books/statistics`
    assert.equal(
      (await fetch(statistics, { headers: { authorization: service.token } })).headers.get('x-search-index'),
      null,
    )
    end.abort()
    const report = await client
    assert.deepEqual(report.failures, [], String(report))
    assertQuick(report, refusals)
    assert.ok(counts.length > 1 && (counts[0] ?? 0) >= BOOKS.first, `counted ${counts[0]} at first`)
    assert.equal(counts.at(-1), BOOKS.first + BOOKS.second)
    assert.equal(await watch, KEY_INDEXES.length, 'searches went without an index that was there before')
  })
})
