import { readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'

/** The maximum number of connections, if the system allows as many open files. */
const MAX_CONNECTIONS = 8000

/** The share of the open files for connections. The store and files that are sent need the rest. */
const SHARE = 3 / 4

/** The minimum time between two log lines about too many connections, in milliseconds. */
const REPORT_INTERVAL = 60_000

/** A connection with this many waiting requests is not read any further. A single read may bring thousands. */
const MANY_WAITING = 10

interface Limits {
  readonly connections: number
  /** The maximum number of requests that wait for earlier ones, on all connections. */
  readonly waitingRequests: number
}

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
 * Keeps the number of connections below the limit of open files. At that limit, Node would close new connections
 * silently, and the store could not open files. A new connection over the limit replaces the one that has been idle
 * longest, or is closed if all are busy. With Node's own `maxConnections`, idle connections would lock everybody out.
 *
 * Serves the requests of a connection one after the other. Node would begin to serve all pipelined requests at once,
 * and keep every response in memory until its turn. It would also serve those that follow the last one of a connection.
 */
export function manageConnections(server: Server, limits: Limits, log: Pick<FastifyBaseLogger, 'warn'>) {
  /** The connections without a request, the one that has been idle longest first. */
  const idle = new Set<Socket>()
  let open = 0
  let lastReport = Number.NEGATIVE_INFINITY

  server.on('connection', (socket: Socket) => {
    open++
    idle.add(socket)
    const turns: Turns = {
      busy: false,
      response: undefined,
      waiting: [],
      end: () => next(turns, socket, idle),
    }
    turnsOf.set(socket, turns)
    // Node resumes reading with every request that is served.
    socket.on('resume', () => pauseIfMany(turns, socket))
    socket.once('close', () => {
      open--
      idle.delete(socket)
      forget(turns)
    })
    if (open <= limits.connections) return
    const [longest = socket] = idle
    idle.delete(longest)
    longest.destroy()
    const now = performance.now()
    if (now - lastReport < REPORT_INTERVAL) return
    lastReport = now
    const limit = limits.connections
    log.warn({ limit }, 'too many connections: idle ones are closed, or new ones if none is idle')
  })

  for (const event of ['request', 'checkExpectation', 'checkContinue'])
    for (const serve of server.listeners(event) as RequestListener[])
      server.off(event, serve).on(event, (request: IncomingMessage, response: ServerResponse) => {
        const { socket } = request
        const turns = turnsOf.get(socket)
        // After the last response of a connection, whatever has arrived is ignored.
        if (turns === undefined || !socket.writable) return
        const begin = () => serve(request, response.on('close', turns.end))
        if (turns.busy) wait(turns, socket, { response, begin }, limits.waitingRequests)
        else {
          turns.busy = true
          idle.delete(socket)
          turns.response = response
          begin()
        }
      })
}

/** @returns the maximum number of connections. Node has already raised the limit of files as far as it may. */
export function connectionLimit(): number {
  const files = Number(/^Max open files\s+(\d+)/m.exec(readLimits())?.[1] ?? Number.POSITIVE_INFINITY)
  return Math.min(MAX_CONNECTIONS, SHARE * files)
}

/** @returns an empty text if there is no such file, because only Linux has it. */
function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1')
  } catch {
    return ''
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
