import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of a connection that may wait before no more is read from it. */
const MAX_WAITING = 100

interface Turns {
  /** Whether a request of the connection is being answered. */
  busy: boolean
  readonly waiting: [IncomingMessage, ServerResponse][]
}

const turnsOf = new WeakMap<Socket, Turns>()

/**
 * Lets a server serve the requests of a connection one after the other. Node would begin with all that a client
 * has sent without waiting for answers, and keep every answer in memory until its turn.
 */
export function serveOneAtATime(server: Server): void {
  for (const event of ['request', 'checkExpectation']) {
    for (const serve of server.listeners(event) as RequestListener[]) {
      server.off(event, serve).on(event, inTurn(serve))
    }
  }
}

function inTurn(serve: RequestListener): RequestListener {
  return (request, response) => {
    const { socket } = request
    let turns = turnsOf.get(socket)
    if (turns === undefined) {
      turns = { busy: false, waiting: [] }
      turnsOf.set(socket, turns)
    }
    if (!turns.busy) begin(turns, request, response, serve)
    else if (turns.waiting.push([request, response]) >= MAX_WAITING) socket.pause()
  }
}

function begin(
  turns: Turns,
  request: IncomingMessage,
  response: ServerResponse,
  serve: RequestListener,
): void {
  turns.busy = true
  response.once('close', () => {
    turns.busy = false
    const next = turns.waiting.shift()
    if (next === undefined) return
    if (request.socket.isPaused()) request.socket.resume()
    begin(turns, ...next, serve)
  })
  serve(request, response)
}
