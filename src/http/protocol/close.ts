import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { envelope, type Failure, failure } from '../envelope.ts'
import { hasWaiting, lastResponse } from './turns.ts'

/** How long a refused client may go on sending before it is cut, so that it can read the response; milliseconds. */
const LINGER = 2000

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

const FAILURES = new Map<string | undefined, Failure>([
  ['HPE_HEADER_OVERFLOW', failure.headersTooLarge],
  [TIMEOUT, failure.requestTimeout],
])

/** Connections that end after a response, so that no further request on them is answered. */
const refused = new WeakSet<Socket>()

/** Requests whose bodies may take longer than the server's limit. */
const bodiesWithOwnLimit = new WeakSet<IncomingMessage>()

/** Requests whose clients wait for 100 Continue before they send the body, with their responses. */
const expectingContinue = new WeakMap<IncomingMessage, ServerResponse>()

/** Asks a client that waits for it to send the body (RFC 9110 §10.1.1). */
export function askForBody(request: IncomingMessage): void {
  expectingContinue.get(request)?.writeContinue()
  expectingContinue.delete(request)
}

/** Whether the client has not been asked yet. It need not send the body, and nothing can follow on the connection. */
function waitsToSend(request: IncomingMessage): boolean {
  return expectingContinue.has(request)
}

/** Lets the body of a request take longer than the server's limit, which is for small bodies. Its reader sets a limit. */
export function awaitBody(request: IncomingMessage): void {
  bodiesWithOwnLimit.add(request)
}

/**
 * Answers what Node's HTTP parser refuses before there is a request to route: malformed or oversized requests, and
 * requests that take too long to arrive. The response is in the envelope like every other. Then the connection is closed,
 * because what follows cannot be told apart from the rest of the bad request.
 */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (refused.has(socket) || (error.code === TIMEOUT && hasOwnLimit(lastResponse(socket)?.req))) return
  refused.add(socket)
  refuseInTurn(FAILURES.get(error.code) ?? failure.badRequest, socket)
}

/** Node reports only once that a request is late. */
function hasOwnLimit(request: IncomingMessage | undefined): boolean {
  return request !== undefined && !request.complete && bodiesWithOwnLimit.has(request)
}

/**
 * Tells the client with the response if the connection ends after it, so that no further request is lost. If the client
 * has asked for that end, and is still sending its body, it can read the response after it (RFC 9112 §9.6).
 */
export function announceClose({ raw, server }: FastifyRequest, reply: FastifyReply): void {
  const isStopping = !server.server.listening && !hasWaiting(raw)
  // Node drops what follows a request to upgrade in the same packet.
  const isLast = isStopping || raw.headers.upgrade !== undefined || waitsToSend(raw)
  if (isLast) reply.header('connection', 'close')
  if (isLast || !(raw.complete || reply.raw.shouldKeepAlive)) closeAfterResponse(raw.socket)
}

/**
 * Closes the connection after the response under way. What the client still sends is dropped, so that it can read the
 * response first.
 */
export function closeAfterResponse(socket: Socket): void {
  refused.add(socket)
  // Node calls this at the end of such a response.
  socket.destroySoon = () => {
    socket.end()
    cutLater(socket, socket)
  }
}

/** Refuses after the responses to earlier requests on the connection, because a client expects responses in that order. */
function refuseInTurn(refusal: Failure, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const earlier = earlierResponse(socket)
  if (earlier !== undefined) {
    earlier.once('close', () => refuseInTurn(refusal, socket))
    return
  }
  // If the body goes wrong after the response was sent, such as a 401, the request gets no second response.
  const last = lastResponse(socket)
  const isAnswered = last?.closed && !last.req.complete
  if (isAnswered) socket.end()
  else socket.end(response(refusal))
  cutLater(socket, socket)
}

/**
 * Lets a client go on sending a body although its request has been answered, so that it can read the response. The body is
 * dropped. A client that does not finish in time is cut.
 */
export function dropRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  cutLater(request.socket, request)
  request.resume()
}

/**
 * Cutting at once, while bytes of the client are unread, would reset the connection, and the response could be lost. The
 * second half of the time begins only after the first: if the process stands still meanwhile, it reads before it cuts.
 */
function cutLater(socket: Socket, unless: Socket | IncomingMessage): void {
  let cut = setTimeout(() => {
    cut = setTimeout(() => socket.destroy(), LINGER / 2)
  }, LINGER / 2)
  unless.once('close', () => clearTimeout(cut))
}

/** Responds in the envelope where Node would otherwise respond by itself, or cut the connection. */
export function refuseUnroutable(
  server: Server,
  route: (request: IncomingMessage, response: ServerResponse) => void,
) {
  // An expectation other than 100-continue may be ignored (RFC 9110 §10.1.1). Node would respond with 417.
  server.on('checkExpectation', route)
  // Node would ask for the body at once, although the headers may decide the response, such as a 401.
  server.on('checkContinue', (request, response) => {
    expectingContinue.set(request, response)
    route(request, response)
  })
  // This is no proxy (RFC 9110 §9.3.6). Node would close the connection without a response. It has removed its own
  // listeners from the socket, and without one for errors a reset by the client would end the process.
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => socket.destroy())
    refuseConnection(new Error('CONNECT'), socket)
  })
}

/** The response to an earlier request, if one is under way or due: not the response to the bad request itself. */
function earlierResponse(socket: Socket): ServerResponse | undefined {
  const last = lastResponse(socket)
  return last && !last.closed && (last.headersSent || last.req.complete) ? last : undefined
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
