import type { FastifyInstance } from 'fastify'
import { closeAfterAnswer } from './malformed-requests.ts'
import { hasWaiting } from './pipelining.ts'

/** Tells the client with the answer if the connection ends after it, so that no further request is lost. */
export function announceClose(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    const isStopping = !app.server.listening && !hasWaiting(request.raw)
    // Node drops what follows a request to upgrade in the same packet.
    if (isStopping || request.raw.headers.upgrade !== undefined) {
      reply.header('connection', 'close')
      closeAfterAnswer(request.raw.socket)
    }
    done()
  })
}
