import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { useService } from '../support/use-service.ts'

/** Books that are there from beginning to end: more than the service reads at once for a list without a limit. */
const STAYING = 2500
const WRITERS = 4
/** Books that each writer creates, and then deletes, at the same time. */
const BATCH = 12

/** One of each kind: by one field, two in the same direction, two in different ones, and three. */
const ORDERS = ['title', '-title', 'author,year', 'author,-year', '-year,title', '-author,year,-title']

const book = (i: number) => ({
  title: `T${(i * 7919) % 3000}`,
  author: `A${(i * 31) % 900}`,
  year: (i * 17) % 2000,
})

const idsOf = async (response: Response) =>
  ((await response.json()) as { data: { id: number }[] }).data.map(({ id }) => id)

for (const engine of ENGINES) {
  describe(`sorted lists beside writers on ${engine}`, { skip: engineMissing(engine) }, () => {
    let staying: readonly number[] = []
    const service = useService(
      async (started) => {
        await started.importBooks(Array.from({ length: STAYING }, (_, i) => book(i)))
        staying = await idsOf(await call('GET', '/books'))
        assert.equal(staying.length, STAYING)
      },
      async () => ({ ...(databases && { DB_URL: await (await databases()).createDatabase() }) }),
    )
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)

    async function call(method: string, path: string, body?: object) {
      const headers = { authorization: service.token }
      const response = await fetch(service.url + path, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
      })
      assert.ok(response.ok, `${method} ${path}: ${response.status}`)
      return response
    }

    /** Creates and deletes books of its own until it is told to stop. */
    async function write(seed: number, signal: AbortSignal): Promise<void> {
      for (let i = seed; !signal.aborted; i += 7 * BATCH) {
        const created = await Promise.all(
          Array.from({ length: BATCH }, (_, k) => call('POST', '/book', book(i + 7 * k))),
        )
        await Promise.all(created.map(({ headers }) => call('DELETE', `/${headers.get('location')}`)))
      }
    }

    async function pages(sort: string): Promise<number[]> {
      const ids: number[] = []
      for (let path: string | undefined = `/books?sort=${sort}&limit=100`; path !== undefined; ) {
        const response = await call('GET', path)
        ids.push(...(await idsOf(response)))
        const [, next] = /^<([^>]*)>/.exec(response.headers.get('link') ?? '') ?? []
        path = next && `/${next}`
      }
      return ids
    }

    it('no book that stays is missing or comes twice, in any order, in pages and in whole lists', async () => {
      const stop = new AbortController()
      const writers = Array.from({ length: WRITERS }, (_, i) => write(STAYING + i * 311, stop.signal))
      try {
        for (const sort of ORDERS)
          for (const ids of [await pages(sort), await idsOf(await call('GET', `/books?sort=${sort}`))]) {
            const found = new Set(ids)
            const missing = staying.filter((id) => !found.has(id)).length
            assert.deepEqual([missing, ids.length - found.size], [0, 0], `sort=${sort}: missing, twice`)
          }
      } finally {
        stop.abort()
        await Promise.all(writers)
      }
    })
  })
}
