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

    const FORMS: Record<string, (sort: string) => Promise<number[]>> = {
      'by pages': async (sort) => {
        const ids: number[] = []
        for (let path: string | undefined = `/books?sort=${sort}&limit=100`; path !== undefined; ) {
          const response = await call('GET', path)
          ids.push(...(await idsOf(response)))
          const [, next] = /^<([^>]*)>/.exec(response.headers.get('link') ?? '') ?? []
          path = next && `/${next}`
        }
        return ids
      },
      whole: async (sort) => idsOf(await call('GET', `/books?sort=${sort}`)),
    }

    for (const [form, walk] of Object.entries(FORMS))
      it(`${form}: no book that stays is missing or comes twice, in any order`, async () => {
        const stop = new AbortController()
        const writers = Array.from({ length: WRITERS }, (_, i) => write(STAYING + i * 311, stop.signal))
        const faults: string[] = []
        try {
          for (const sort of ORDERS) {
            const ids = await walk(sort)
            const found = new Set(ids)
            const missing = staying.filter((id) => !found.has(id)).length
            if (missing > 0) faults.push(`sort=${sort}: ${missing} missing`)
            if (found.size < ids.length) faults.push(`sort=${sort}: ${ids.length - found.size} come twice`)
          }
        } finally {
          stop.abort()
          await Promise.all(writers)
        }
        assert.deepEqual(faults, [])
      })
  })
}
