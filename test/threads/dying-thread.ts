/**
 * Loaded into every thread of a service. Where a request has the header `x-die`, its thread dies of an error so many
 * milliseconds later. SIGUSR2 keeps the main thread busy for a second.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) {
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { request: IncomingMessage }
    const delay = request.headers['x-die']
    if (delay === undefined) return
    setTimeout(() => {
      throw new Error('the error of the test')
    }, Number(delay))
  })
} else {
  process.on('SIGUSR2', () => {
    const end = Date.now() + 1000
    while (Date.now() < end);
  })
}
