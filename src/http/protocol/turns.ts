import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** When so many requests of a connection wait, no more is read from it. One read may bring thousands. */
const MANY_WAITING = 10

interface Turns {
  /** Whether a request of the connection is being answered, or is about to be. */
  busy: boolean
  /** The response to the request whose turn it is or was last. */
  response: ServerResponse | undefined
  readonly waiting: Turn[]
}

interface Turn {
  readonly response: ServerResponse
  /** Begins to serve the request. */
  begin(): void
}

const turnsOf = new WeakMap<Socket, Turns>()

/** How many requests wait on all connections. */
let allWaiting = 0

/**
 * Serves the requests of a connection one after the other. Node would begin to serve all requests at once that a client
 * sends without waiting for responses, and keep every response in memory until its turn. It would also serve requests that
 * follow one after whose response the connection is closed.
 * @param limit how many requests may wait on all connections.
 * @param idle the connections without a request, the one that has been idle longest first. This keeps them so.
 */
export function oneAtATime(limit: number, idle: Set<Socket>): (serve: RequestListener) => RequestListener {
  return (serve) => (request, response) => {
    const { socket } = request
    // After the last response of a connection, nothing that has come is taken for a request.
    if (!socket.writable) return
    const turns = turnsOf.get(socket) ?? watch(socket)
    const begin = () => {
      response.once('close', () => next(turns, socket, idle))
      serve(request, response)
    }
    if (turns.busy) wait(turns, socket, { response, begin }, limit)
    else {
      turns.busy = true
      idle.delete(socket)
      turns.response = response
      begin()
    }
  }
}

/** Wraps the listeners that serve the requests of a server. */
export function serveThrough(server: Server, wrap: (serve: RequestListener) => RequestListener): void {
  for (const event of ['request', 'checkExpectation', 'checkContinue']) {
    for (const serve of server.listeners(event) as RequestListener[]) {
      server.off(event, serve).on(event, wrap(serve))
    }
  }
}

/** @returns the response to the request of the connection whose turn it is, or was last. */
export function lastResponse(socket: Socket): ServerResponse | undefined {
  return turnsOf.get(socket)?.response
}

/** Whether the client has sent more requests on the connection of this one. */
export function hasWaiting({ socket }: IncomingMessage): boolean {
  return (turnsOf.get(socket)?.waiting.length ?? 0) > 0
}

function watch(socket: Socket): Turns {
  const turns: Turns = { busy: false, response: undefined, waiting: [] }
  turnsOf.set(socket, turns)
  // Node reads on with every request that is served.
  socket.on('resume', () => pauseIfMany(turns, socket))
  socket.once('close', () => forget(turns))
  return turns
}

function wait(turns: Turns, socket: Socket, turn: Turn, limit: number): void {
  if (allWaiting >= limit) {
    // A client that pipelines has to be ready for this (RFC 9112 §9.3.2).
    socket.destroy()
    return
  }
  allWaiting++
  turns.waiting.push(turn)
  pauseIfMany(turns, socket)
}

/** Reads no more while many requests wait. The body of the request being served is complete, because they followed it. */
function pauseIfMany({ waiting }: Turns, socket: Socket): void {
  if (waiting.length >= MANY_WAITING) socket.pause()
}

/** Gives the next request its turn. */
function next(turns: Turns, socket: Socket, idle: Set<Socket>): void {
  const turn = turns.waiting.shift()
  if (turn === undefined) {
    turns.busy = false
    if (!socket.destroyed) idle.add(socket)
    return
  }
  allWaiting--
  turns.response = turn.response
  if (turns.waiting.length < MANY_WAITING && socket.isPaused()) socket.resume()
  // The turn begins later, so that a client with thousands of requests does not keep other clients waiting.
  setImmediate(() => {
    if (socket.writable) turn.begin()
    else forget(turns)
  })
}

function forget({ waiting }: Turns): void {
  allWaiting -= waiting.length
  waiting.length = 0
}
