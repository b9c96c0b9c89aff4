import type { FastifyInstance } from 'fastify'
import { closeAfterAnswer, waitsToSend } from './malformed-requests.ts'
import { hasWaiting } from './pipelining.ts'

/**
 * Tells the client with the answer if the connection ends after it, so that no further request is lost. If the client
 * has asked for that end, and is still sending its body, it can read the answer after it (RFC 9112 §9.6).
 */
export function announceClose(app: FastifyInstance): void {
  app.addHook('onSend', ({ raw }, reply, _payload, done) => {
    const isStopping = !app.server.listening && !hasWaiting(raw)
    // Node drops what follows a request to upgrade in the same packet.
    const isLast = isStopping || raw.headers.upgrade !== undefined || waitsToSend(raw)
    if (isLast) reply.header('connection', 'close')
    if (isLast || !(raw.complete || reply.raw.shouldKeepAlive)) closeAfterAnswer(raw.socket)
    done()
  })
}
