/** Loaded into every thread of a service. Where a request has the header `x-die`, its thread dies of an error. */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) {
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { request: IncomingMessage }
    if (request.headers['x-die'] === undefined) return
    setImmediate(() => {
      throw new Error('the error of the test')
    })
  })
}
