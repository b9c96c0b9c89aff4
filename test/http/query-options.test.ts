import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { Auth } from '../../src/auth/auth.ts'
import type { QueryOptions } from '../../src/catalogue/store.ts'
import { newFile, openFile } from '../store/sqlite/file.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { createTestServer } from '../support/test-server.ts'

for (const [path, query] of [
  ['/books?q=a', 'page'],
  ['/books?q=a&limit=1', 'page'],
  ['/books?q=a&count=true', 'count'],
  ['/books/statistics', 'statistics'],
] as const)
  it(`${path}: its ${query} is of a client, ends with it, and tells it that the index is behind`, async () => {
    using file = newFile()
    const store = await openFile(file.path)
    const held = Promise.withResolvers<QueryOptions>()
    let isHeld = false
    const answer = (...given: unknown[]) => {
      const options = given.at(-1) as QueryOptions
      options.onIncomplete?.()
      if (!isHeld) return Reflect.apply(store[query], store, given)
      held.resolve(options)
      return once(options.signal as AbortSignal, 'abort')
    }
    const app = createTestServer({ ...store, page: store.page.bind(store), [query]: answer })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const leaving = new AbortController()
    const headers = { authorization: await new Auth(ACCOUNT, SECRET).issue() }
    const ask = () => fetch(url + path, { headers, signal: leaving.signal })
    assert.equal((await ask()).headers.get('x-search-index'), 'incomplete')
    isHeld = true
    const asking = assert.rejects(ask())
    const { client, signal } = await held.promise
    assert.deepEqual([client, signal?.aborted], ['127.0.0.1', false])
    leaving.abort()
    await Promise.all([asking, once(signal as AbortSignal, 'abort')])
    await app.close()
    await store.close()
  })
