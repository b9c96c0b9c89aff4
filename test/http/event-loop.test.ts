import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { it } from 'node:test'
import { serve } from './serve.ts'

/** How often the delay is looked at, in milliseconds. */
const INTERVAL = 500

it('requests are turned away while the mean delay is over 500 ms twice in a row, except those of supervisors', async (t) => {
  let delay: number | undefined
  const histogram = Object.getPrototypeOf(Object.getPrototypeOf(monitorEventLoopDelay()))
  t.mock.getter(histogram, 'count', () => (delay === undefined ? 0 : 1))
  // Of the delay, ten milliseconds are the resolution.
  t.mock.getter(histogram, 'mean', () => ((delay ?? 0) + 10) * 1e6)
  const { mock: reset } = t.mock.method(histogram, 'reset')
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { app, authorization } = await serve(t)
  const ask = (url: string) => app.inject({ url, headers: { authorization } })
  for (const [next, status] of [
    [501, 200],
    [501, 503],
    [500, 200],
    [501, 200],
    // No measurement at all: it has been blocked all the time.
    [undefined, 503],
    [501, 503],
    [500, 200],
  ] as const) {
    delay = next
    reset.resetCalls()
    t.mock.timers.tick(INTERVAL)
    assert.equal(reset.callCount(), 1, 'the mean is that of an interval')
    const response = await ask('/books')
    assert.equal(response.statusCode, status, `after ${next} ms`)
    if (status === 503) assert.match(String(response.headers['retry-after']), /^[1-9]\d*$/)
    for (const url of ['/healthz', '/readyz']) assert.equal((await ask(url)).statusCode, 200)
  }
})
