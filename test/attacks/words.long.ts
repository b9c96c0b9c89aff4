import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { ServiceInUse, useService } from '../support/use-service.ts'
import { withstand } from './polite-client.ts'

/** Of 24 kB, and of 48,000 letters each of which begins a word. */
const COSTLY = { title: '㌖'.repeat(4000), author: '㌖'.repeat(4000), year: 1 }
const BOOKS = 30

/** Nobody waits for more than a step of the index but queries; milliseconds of the processor. */
const BOUNDS = { read: 3000, health: 3000, write: 3000 }

const createCostlyBooks = (service: ServiceInUse) =>
  Promise.all(Array.from({ length: BOOKS }, () => service.createBook(COSTLY)))

for (const engine of ENGINES)
  describe(`books with costly words, on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)
    const settings = async () => ({
      ...(databases && { DB_URL: await (await databases()).createDatabase() }),
    })
    const service = useService(
      (started) => started.createBook({ title: 'Polite', author: 'A', year: 1 }),
      settings,
    )

    it('keep nobody else waiting, are soon found, and can be deleted', (t) =>
      withstand(t, service, BOUNDS, async () => {
        const headers = { authorization: service.token }
        const ids = await createCostlyBooks(service)
        const search = `${service.url}/books?limit=1000&q=${encodeURIComponent('キロメ')}`
        for (;;) {
          const response = await fetch(search, { headers })
          const { data } = (await response.json()) as { data: unknown[] }
          if (response.status === 503) continue
          assert.equal(response.status, 200)
          if (response.headers.get('x-search-index') === 'incomplete') continue
          assert.equal(data.length, BOOKS)
          break
        }
        for (const id of ids) {
          const response = await fetch(`${service.url}/book/${id}`, { method: 'DELETE', headers })
          assert.equal(response.status, 200)
          await response.arrayBuffer()
        }
      }))

    it('do not keep the service from ending', async () => {
      const ending = new ServiceInUse(await settings(), [])
      await ending.start()
      await createCostlyBooks(ending)
      // It answers after half of its time, when the index is at it.
      const headers = { authorization: ending.token }
      await (await fetch(`${ending.url}/books?q=polite`, { headers })).arrayBuffer()
      await createCostlyBooks(ending)
      await ending.end()
      assert.doesNotMatch(ending.output(), /without waiting/)
    })
  })
