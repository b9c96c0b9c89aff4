/**
 * Loaded into every thread of a service, whose answers name it in the header `x-thread`. Where a request has the header
 * `x-die`, its thread dies of an error so many milliseconds later. SIGUSR2 keeps the main thread busy for a second.
 * With DIE_AT_START, threads die of an error with that code before they can do anything. All threads that answer requests
 * but the first do nothing as long as there is the file that HOLD names, and none can listen while there is that of REFUSE.
 */
import { subscribe } from 'node:diagnostics_channel'
import { existsSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server } from 'node:net'
import { isMainThread, threadId, threadName } from 'node:worker_threads'

const { DIE_AT_START, HOLD, REFUSE } = process.env

if (!isMainThread) {
  if (DIE_AT_START) throw Object.assign(new Error('the error of the test'), { code: DIE_AT_START })
  if (REFUSE !== undefined && existsSync(REFUSE))
    Server.prototype.listen = () => {
      throw new Error('no buffer space')
    }
  while (HOLD !== undefined && threadName === 'http' && threadId > 1 && existsSync(HOLD));
  subscribe('http.server.request.start', (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    response.setHeader('x-thread', threadId)
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
