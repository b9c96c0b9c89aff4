import { describe, it } from 'node:test'
import { assertResponse, targets } from './client.ts'
import { exchange, keepOpen, request } from './raw.ts'
import { useSession } from './session.ts'

/** How long a service may wait for a request before it gives up, in milliseconds. */
const PATIENCE = 45_000

const TIMEOUT = 'decision: a slow request is 408 Request timeout, enveloped, then closed'

describe('decisions on slow requests', { concurrency: true }, () => {
  for (const target of targets())
    describe(target.name, { concurrency: true }, () => {
      const session = useSession(target)

      async function expectTimeout(bytes: string): Promise<void> {
        const reply = await exchange(target, bytes, { time: PATIENCE, drip: 'x' })
        assertResponse(reply, 408, 'Request timeout', null)
      }

      it(`${TIMEOUT}: headers`, () =>
        expectTimeout(`${keepOpen(request(target, 'GET', '/books')).slice(0, -2)}X-Slow: `))

      for (const path of ['/book', '/token'])
        it(`${TIMEOUT}: the body of ${path}`, () => {
          const headers = [`Authorization: ${session.token}`, 'Content-Length: 1000']
          return expectTimeout(`${keepOpen(request(target, 'POST', path, headers))}{"title":"`)
        })
    })
})
