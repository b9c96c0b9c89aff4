import type { EventEmitter } from 'node:events'
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { collectGarbage } from '../../collect-garbage.ts'
import { envelope, type Failure, failure } from '../envelope.ts'

/** How long a refused client may go on sending before it is cut, so that it can read the answer; milliseconds. */
const LINGER = 2000

/** Bytes of bodies that are dropped between two garbage collections. */
const MUCH_DROPPED = 8 * 1024 * 1024

/** Since the last one. */
let dropped = 0

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

const FAILURES = new Map<string | undefined, Failure>([
  ['HPE_HEADER_OVERFLOW', failure.headersTooLarge],
  [TIMEOUT, failure.requestTimeout],
])

/** A host and a port as in a URI, but without commas: a comma joins the values of several headers. */
const HOST = /^(?:[\w.~!$&'()*+;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/** Connections that end after an answer, so that no further request on them is answered. */
const refused = new WeakSet<Socket>()

/** The newest request of each connection. */
const newest = new WeakMap<Socket, IncomingMessage>()

/** Requests whose bodies may take longer than the server's limit. */
const unhurried = new WeakSet<IncomingMessage>()

/** Requests whose clients wait for 100 Continue before they send the body, with their answers. */
const expectant = new WeakMap<IncomingMessage, ServerResponse>()

/** Asks a client that waits for it to send the body (RFC 9110 §10.1.1). */
export function askForBody(request: IncomingMessage): void {
  expectant.get(request)?.writeContinue()
  expectant.delete(request)
}

/** Whether the client has not been asked yet. It need not send the body, and nothing can follow on the connection. */
export function waitsToSend(request: IncomingMessage): boolean {
  return expectant.has(request)
}

/** Lets the body of a request take longer than the server's limit, which is for small bodies. Its reader sets a limit. */
export function awaitBody(request: IncomingMessage): void {
  unhurried.add(request)
}

/**
 * Answers what Node's HTTP parser refuses before there is a request to route: malformed or oversized requests, and
 * requests that take too long to arrive. The answer is in the envelope like every other. Then the connection is closed,
 * because what follows cannot be told apart from the rest of the bad request.
 */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (refused.has(socket) || (error.code === TIMEOUT && isUnhurried(newest.get(socket)))) return
  refused.add(socket)
  refuseInTurn(FAILURES.get(error.code) ?? failure.badRequest, socket)
}

/** Node reports only once that a request is late. */
function isUnhurried(request: IncomingMessage | undefined): boolean {
  return request !== undefined && !request.complete && unhurried.has(request)
}

/**
 * Closes the connection after the answer under way. What the client still sends is dropped, so that it can read the
 * answer first.
 */
export function closeAfterAnswer(socket: Socket): void {
  refused.add(socket)
  // Node calls this at the end of such an answer.
  socket.destroySoon = () => {
    socket.end()
    cutLater(socket, socket)
  }
}

/** Refuses after the answers to earlier requests on the connection, because a client expects answers in that order. */
function refuseInTurn(answer: Failure, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const earlier = earlierAnswer(socket)
  if (earlier !== undefined) {
    earlier.once('close', () => refuseInTurn(answer, socket))
    return
  }
  // If the body goes wrong after the answer was sent, such as a 401, the request gets no second answer.
  const isAnswered = newest.get(socket)?.complete === false && current(socket) === undefined
  if (isAnswered) socket.end()
  else socket.end(response(answer))
  cutLater(socket, socket)
}

/**
 * Lets a client go on sending a body although its request has been answered, so that it can read the answer. The body is
 * dropped. A client that does not finish in time is cut.
 */
export function dropRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  cutLater(request.socket, request)
  dropBody(request)
}

/** Drops what comes of a body that nobody reads. */
export function dropBody(request: IncomingMessage): void {
  if (request.complete || request.listenerCount('data') > 0) return
  request.on('data', ({ length }: Uint8Array) => {
    dropped += length
    if (dropped < MUCH_DROPPED) return
    // V8 alone lets some 60 MiB of chunks become garbage first.
    collectGarbage({ type: 'minor' })
    dropped = 0
  })
}

/**
 * Cutting at once, while bytes of the client are unread, would reset the connection, and the answer could be lost. The
 * second half of the time begins only after the first: if the process stands still meanwhile, it reads before it cuts.
 */
function cutLater(socket: Socket, unless: Socket | IncomingMessage): void {
  let cut = setTimeout(() => {
    cut = setTimeout(() => socket.destroy(), LINGER / 2)
  }, LINGER / 2)
  unless.once('close', () => clearTimeout(cut))
}

/** Answers in the envelope what Node would otherwise answer or cut off by itself. */
export function refuseUnroutable(
  server: Server,
  route: (request: IncomingMessage, response: ServerResponse) => void,
) {
  // An expectation other than 100-continue may be ignored (RFC 9110 §10.1.1). Node would answer 417.
  server.on('checkExpectation', route)
  // Node would ask for the body at once, although the headers may decide the answer, such as a 401.
  server.on('checkContinue', (request, response) => {
    expectant.set(request, response)
    route(request, response)
  })
  // This is no proxy (RFC 9110 §9.3.6). Node would close the connection without an answer. It has removed its own
  // listeners from the socket, and without one for errors a reset by the client would end the process.
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => socket.destroy())
    refuseConnection(new Error('CONNECT'), socket)
  })
}

/** Wraps the listeners that serve the requests of a server. */
export function serveThrough(server: Server, wrap: (serve: RequestListener) => RequestListener): void {
  for (const event of ['request', 'checkExpectation', 'checkContinue']) {
    for (const serve of server.listeners(event) as RequestListener[]) {
      server.off(event, serve).on(event, wrap(serve))
    }
  }
}

/**
 * Refuses what Node's parser lets pass although it is no request of HTTP/1.0 or 1.1, or is over the limit. Also notes
 * the newest request of each connection, so that a later refusal knows whether it would be a second answer to it.
 * @param headerLimit the largest header block, in bytes.
 */
export function refuseNonconforming(app: FastifyInstance, headerLimit: number): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    newest.set(raw.socket, raw)
    done(nonconformance(raw, headerLimit))
  })
}

/** @returns how to refuse the request, or undefined if nothing is wrong with it. */
function nonconformance(
  { httpVersion, headers, rawHeaders, url = '' }: IncomingMessage,
  headerLimit: number,
): Failure | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return failure.badRequest
  // The absolute form is for proxies, and this is none. `*` is for OPTIONS (RFC 9112 §3.2).
  if (!url.startsWith('/') && url !== '*') return failure.badRequest
  // Node would take any other coding for chunked. HTTP/1.0 has none (RFC 9112 §6.1).
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return failure.badRequest
  // A request has one valid Host. Only HTTP/1.0 may leave it out (RFC 9112 §3.2).
  if (headers.host === undefined ? httpVersion === '1.1' : !HOST.test(headers.host)) return failure.badRequest
  // Node does not count the colon, the space and the end of each line.
  let size = 2 * rawHeaders.length
  for (const part of rawHeaders) size += part.length
  return size > headerLimit ? failure.headersTooLarge : undefined
}

/** The answer to an earlier request, if one is under way or due: not the answer to the bad request itself. */
function earlierAnswer(socket: Socket): ServerResponse | undefined {
  const answer = current(socket)
  return answer?.headersSent || answer?.req.complete ? answer : undefined
}

/** @returns the answer to the request whose turn it is, or the request itself without a connection, as in tests. */
export function answerTo(request: IncomingMessage): EventEmitter {
  return current(request.socket) ?? request
}

/** The first answer that is not finished. Node's own handler uses `_httpMessage` too. */
function current(socket: Socket & { _httpMessage?: ServerResponse | null }): ServerResponse | undefined {
  return socket._httpMessage ?? undefined
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
