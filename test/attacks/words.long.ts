import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ENGINES, engineMissing } from '../support/engines.ts'
import { ServiceInUse, useService } from '../support/use-service.ts'
import { useDatabase, withstand } from './polite-client.ts'

/** Of 24 kB, and of 48,000 letters each of which begins a word. */
const COSTLY = { title: '㌖'.repeat(4000), author: '㌖'.repeat(4000), year: 1 }
const BOOKS = 30

/** Nobody waits for more than a step of the index but queries; milliseconds of the processor. */
const BOUNDS = { read: 3000, health: 3000, write: 3000 }

const createCostlyBooks = (service: ServiceInUse) =>
  Promise.all(Array.from({ length: BOOKS }, () => service.createBook(COSTLY)))

for (const engine of ENGINES)
  describe(`books with costly words, on ${engine}`, { skip: engineMissing(engine) }, () => {
    const settings = useDatabase(engine)
    const service = useService(
      (started) => started.createBook({ title: 'Polite', author: 'A', year: 1 }),
      settings,
    )

    it('keep nobody else waiting, are soon found, and can be deleted', (t) =>
      withstand(t, service, BOUNDS, async () => {
        const headers = { authorization: service.token }
        const ids = await createCostlyBooks(service)
        const search = `${service.url}/books?limit=1000&q=${encodeURIComponent('キロメ')}`
        let response: Response
        do response = await fetch(search, { headers })
        while ((response.status === 503 || response.headers.has('x-search-index')) && (await response.text()))
        const { data } = (await response.json()) as { data: unknown[] }
        assert.deepEqual([response.status, data.length], [200, BOOKS])
        for (const id of ids) await service.deleteBook(id)
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
