import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import type { QueryOptions } from '../../src/catalogue/store.ts'
import { serve } from './serve.ts'

for (const [path, query] of [
  ['/books?q=a', 'page'],
  ['/books?q=a&limit=1', 'page'],
  ['/books?q=a&count=true', 'count'],
  ['/books/statistics', 'statistics'],
] as const)
  it(`${path}: its ${query} is of a client, ends with it, and tells it that the index is behind`, async (t) => {
    const held = Promise.withResolvers<QueryOptions>()
    let isHeld = false
    const { url, authorization } = await serve(t, {
      trustProxy: true,
      replaced: (store) => ({
        [query]: (...given: unknown[]) => {
          const options = given.at(-1) as QueryOptions
          options.onIncomplete?.()
          if (!isHeld) return Reflect.apply(store[query], store, given)
          held.resolve(options)
          return once(options.signal as AbortSignal, 'abort')
        },
      }),
    })
    const headers = { authorization, 'x-forwarded-for': '2001:db8:1:2::3' }
    const leaving = new AbortController()
    const ask = () => fetch(url + path, { headers, signal: leaving.signal })
    assert.equal((await ask()).headers.get('x-search-index'), 'incomplete')
    isHeld = true
    const asking = assert.rejects(ask())
    const { client, signal } = await held.promise
    assert.deepEqual([client, signal?.aborted], ['2001:db8:1:2', false])
    leaving.abort()
    await Promise.all([asking, once(signal as AbortSignal, 'abort')])
  })
