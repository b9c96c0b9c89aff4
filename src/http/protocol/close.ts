import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { envelope, type Failure, failure } from '../envelope.ts'
import { hasWaiting, lastResponse, responsesOf } from './connections.ts'

/** How long a refused client may go on sending while it reads the response, in milliseconds. */
const LINGER = 2000

const { STATUS_CODES } = process.getBuiltinModule('node:http')

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

const FAILURES = new Map<string | undefined, Failure>([
  ['HPE_HEADER_OVERFLOW', failure.headersTooLarge],
  [TIMEOUT, failure.requestTimeout],
])

/** Connections that end after a response. No further request on them is answered. */
const refused = new WeakSet<Socket>()

/** Requests whose bodies may take longer than the server's limit. */
const bodiesWithOwnLimit = new WeakSet<IncomingMessage>()

/** Requests whose clients wait for 100 Continue before they send the body, with their responses. */
const expectingContinue = new WeakMap<IncomingMessage, ServerResponse>()

/** Sends 100 Continue if the client waits for it (RFC 9110 §10.1.1). */
export function askForBody(request: IncomingMessage): void {
  expectingContinue.get(request)?.writeContinue()
  expectingContinue.delete(request)
}

/**
 * Exempts a request from the server's limits on the time of its body, which are for small bodies: its reader sets one.
 * Also exempts its connection from the limit on idle time until it is answered, because the service may work for longer.
 */
export function exemptFromTimeLimits(request: IncomingMessage): void {
  bodiesWithOwnLimit.add(request)
  request.socket.setTimeout(0)
}

/**
 * Answers what Node's HTTP parser refuses before there is a request to route: malformed or oversized requests, and
 * requests that take too long to arrive. Then closes the connection, because what follows cannot be distinguished from
 * the rest of the bad request.
 */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (refused.has(socket)) return
  const request = lastResponse(socket)?.req
  // Node reports only once that a request is late.
  if (error.code === TIMEOUT && request?.complete === false && bodiesWithOwnLimit.has(request)) return
  // Connections that are opened in advance end silently: a response would be taken for that to a later request.
  if (error.code === TIMEOUT && socket.bytesRead === 0) {
    socket.destroy()
    return
  }
  refused.add(socket)
  refuseInTurn(FAILURES.get(error.code) ?? failure.badRequest, socket)
}

/**
 * Sends `Connection: close` if the connection ends after this response, so that no further request is lost. Also lets a
 * client that has itself asked for the close, and is still sending its body, read the response (RFC 9112 §9.6).
 */
export function announceClose({ raw, server }: FastifyRequest, reply: FastifyReply): void {
  const isStopping = !server.server.listening && !hasWaiting(raw)
  // Node drops what follows a request to upgrade in the same packet. A client that still waits for 100 Continue may omit
  // the body, and its next request would be taken for it.
  const isLast = isStopping || raw.headers.upgrade !== undefined || expectingContinue.has(raw)
  if (isLast) reply.header('connection', 'close')
  if (isLast || !(raw.complete || reply.raw.shouldKeepAlive)) closeAfterResponse(raw.socket)
}

/** Closes the connection after the current response. So that the client can read it, what it still sends is dropped. */
export function closeAfterResponse(socket: Socket): void {
  refused.add(socket)
  // Node calls this after a response with `Connection: close`.
  socket.destroySoon = () => {
    socket.end()
    cutLater(socket, socket)
  }
}

/**
 * Ends a connection at once, with a reset if a response is cut by it: one to HTTP/1.0 has neither a length nor chunks, so
 * that after an orderly end its half would look like the whole.
 */
export function cut(socket: Socket): void {
  const response = lastResponse(socket)
  // The system still delivers what it has accepted, but not after a reset.
  if (response?.headersSent && !response.writableFinished) socket.resetAndDestroy()
  else socket.destroy()
}

/** Refuses after the responses to earlier requests on the connection: clients expect them in that order. */
function refuseInTurn(refusal: Failure, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  // Those to earlier requests, not that to the bad request itself.
  const earlier = responsesOf(socket).findLast(
    ({ closed, headersSent, req }) => !closed && (headersSent || req.complete),
  )
  if (earlier !== undefined) {
    earlier.once('close', () => refuseInTurn(refusal, socket))
    return
  }
  const last = lastResponse(socket)
  const isRead = last && !last.req.complete && !last.closed && last.req.listenerCount('error') > 0
  // A small body that is being read is refused as a request: with its id, and counted.
  if (isRead && !bodiesWithOwnLimit.has(last.req)) {
    last.req.emit('error', refusal)
    return
  }
  // A body may turn out malformed after its request was answered, for example with 401. There is no second response.
  const isAnswered = last?.closed && !last.req.complete
  if (isAnswered) socket.end()
  else socket.end(response(refusal))
  cutLater(socket, socket)
}

/**
 * Drops the rest of a body whose request has been answered, so that the client can finish sending and read the
 * response. A client that does not finish in time is disconnected.
 */
export function dropRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  cutLater(request.socket, request)
  request.resume()
}

/**
 * Destroys a socket after a while. Doing so at once, with received bytes unread, would reset the connection, and the
 * response could be lost.
 */
function cutLater(socket: Socket, unless: Socket | IncomingMessage): void {
  const cancel = startTimer(LINGER, () => socket.destroy())
  unless.once('close', cancel)
}

/**
 * Limits how long a client may take. A second timer starts when the first fires, so a process that stood still reads
 * what has arrived in between.
 * @param time in milliseconds. @returns a function that cancels it.
 */
export function startTimer(time: number, end: () => void): () => void {
  let timer = setTimeout(() => {
    timer = setTimeout(end, time / 2)
  }, time / 2)
  return () => clearTimeout(timer)
}

/** Handles requests that Node would answer itself, without the envelope, or whose connections it would close. */
export function refuseUnroutable(
  server: Server,
  route: (request: IncomingMessage, response: ServerResponse) => void,
) {
  // An expectation other than 100-continue may be ignored (RFC 9110 §10.1.1). Node would respond with 417.
  server.on('checkExpectation', route)
  // Node would send 100 Continue at once, although the headers may decide the response, such as a 401.
  server.on('checkContinue', (request, response) => {
    expectingContinue.set(request, response)
    route(request, response)
  })
  // CONNECT is for proxies (RFC 9110 §9.3.6). Node would close the connection without a response. It has removed its
  // own listeners from the socket, and without one for errors a reset by the client would end the process.
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => socket.destroy())
    refuseConnection(new Error('CONNECT'), socket)
  })
}

function response({ status, message }: Failure): string {
  const body = JSON.stringify(envelope({ status, message }, null))
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Date: ${new Date().toUTCString()}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
