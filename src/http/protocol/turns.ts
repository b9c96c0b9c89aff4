import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A connection with this many waiting requests is not read any further. A single read may bring thousands. */
const MANY_WAITING = 10

interface Turns {
  /** Whether a request of the connection is being answered, or is about to be. */
  busy: boolean
  /** The response to the request that is being served, or was served last. */
  response: ServerResponse | undefined
  readonly waiting: Turn[]
  /** Called when a response is closed: one function for the connection, as one for each response takes longer. */
  readonly end: () => void
}

interface Turn {
  readonly response: ServerResponse
  begin(): void
}

const turnsOf = new WeakMap<Socket, Turns>()

/** The number of waiting requests on all connections. */
let allWaiting = 0

/**
 * Serves the requests of a connection one after the other. Node would begin to serve all pipelined requests at once,
 * and keep every response in memory until its turn. It would also serve those that follow the last one of a connection.
 * @param limit the maximum number of waiting requests on all connections.
 * @param idle the connections without a request, kept in order here: the one that has been idle longest is first.
 */
export function oneAtATime(limit: number, idle: Set<Socket>): (serve: RequestListener) => RequestListener {
  return (serve) => (request, response) => {
    const { socket } = request
    // After the last response of a connection, whatever has arrived is ignored.
    if (!socket.writable) return
    const turns = turnsOf.get(socket) ?? watch(socket, idle)
    const begin = () => serve(request, response.on('close', turns.end))
    if (turns.busy) wait(turns, socket, { response, begin }, limit)
    else {
      turns.busy = true
      idle.delete(socket)
      turns.response = response
      begin()
    }
  }
}

export function serveThrough(server: Server, wrap: (serve: RequestListener) => RequestListener): void {
  for (const event of ['request', 'checkExpectation', 'checkContinue']) {
    for (const serve of server.listeners(event) as RequestListener[]) {
      server.off(event, serve).on(event, wrap(serve))
    }
  }
}

/** @returns the response to the request of the connection that is being served, or was served last. */
export function lastResponse(socket: Socket): ServerResponse | undefined {
  return turnsOf.get(socket)?.response
}

/** @returns the responses of the connection that are being sent, were sent last, or wait, in this order. */
export function responsesOf(socket: Socket): ServerResponse[] {
  const { response, waiting = [] } = turnsOf.get(socket) ?? {}
  return [...(response ? [response] : []), ...waiting.map((turn) => turn.response)]
}

/** Whether further requests wait on the connection of this one. */
export function hasWaiting({ socket }: IncomingMessage): boolean {
  return (turnsOf.get(socket)?.waiting.length ?? 0) > 0
}

function watch(socket: Socket, idle: Set<Socket>): Turns {
  const end = () => next(turns, socket, idle)
  const turns: Turns = { busy: false, response: undefined, waiting: [], end }
  turnsOf.set(socket, turns)
  // Node resumes reading with every request that is served.
  socket.on('resume', () => pauseIfMany(turns, socket))
  socket.once('close', () => forget(turns))
  return turns
}

function wait(turns: Turns, socket: Socket, turn: Turn, limit: number): void {
  if (allWaiting >= limit) {
    // A client that pipelines has to be prepared for this (RFC 9112 §9.3.2).
    socket.destroy()
    return
  }
  allWaiting++
  turns.waiting.push(turn)
  pauseIfMany(turns, socket)
}

/** Stops reading while many requests wait. The body of the current one is complete, because others followed it. */
function pauseIfMany({ waiting }: Turns, socket: Socket): void {
  if (waiting.length >= MANY_WAITING) socket.pause()
}

/** Serves the next request of the connection, or adds the connection to the idle ones. */
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
  // Deferred, so that a client with thousands of requests does not keep other clients waiting.
  setImmediate(() => {
    if (socket.writable) turn.begin()
    else forget(turns)
  })
}

function forget({ waiting }: Turns): void {
  allWaiting -= waiting.length
  waiting.length = 0
}
