import type { EventEmitter } from 'node:events'
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import { envelope, type Failure, failure } from '../envelope.ts'

/** How long a refused client may go on sending, so that it reads the refusal, before it is cut; milliseconds. */
const LINGER = 2000

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

const FAILURES = new Map<string | undefined, Failure>([
  ['HPE_HEADER_OVERFLOW', failure.headersTooLarge],
  [TIMEOUT, failure.requestTimeout],
])

/** A host and a port as a URI has them, without the comma that joins the values of several headers. */
const HOST = /^(?:[\w.~!$&'()*+;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i

const refused = new WeakSet<Socket>()

/** The newest request of each connection. */
const newest = new WeakMap<Socket, IncomingMessage>()

/** Requests whose bodies may take longer than others. */
const unhurried = new WeakSet<IncomingMessage>()

/** Lets the body of a request take longer than the server's limit, which is for small ones. Its reader has its own. */
export function awaitBody(request: IncomingMessage): void {
  unhurried.add(request)
}

/** Notes a request, so that a later refusal knows whether it would be a second answer to it. */
export function noteRequest(request: IncomingMessage): void {
  newest.set(request.socket, request)
}

/**
 * Answers what Node's HTTP parser turns away before there is a request to route: malformed or oversized
 * requests, and requests that take too long to arrive. The answer is in the envelope like every other; then the
 * connection is closed, because what follows on it cannot be told apart from the rest of the bad request.
 */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (refused.has(socket) || (error.code === TIMEOUT && isUnhurried(newest.get(socket)))) return
  refused.add(socket)
  refuseInTurn(FAILURES.get(error.code) ?? failure.badRequest, socket)
}

/** Node tells of a request that is late only once. */
function isUnhurried(request: IncomingMessage | undefined): boolean {
  return request !== undefined && !request.complete && unhurried.has(request)
}

/**
 * Closes the connection after the answer under way, without losing it to a client that is still sending; what that
 * sends is dropped.
 */
export function closeAfterAnswer(socket: Socket): void {
  refused.add(socket)
  // What Node does at the end of such an answer.
  socket.destroySoon = () => {
    socket.end()
    cutLater(socket, socket)
  }
}

/** Refuses after the answers to earlier requests on the connection: a client takes answers in that order. */
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
  // A request whose body goes wrong after its answer was sent, such as a 401, gets no second one.
  const isAnswered = newest.get(socket)?.complete === false && current(socket) === undefined
  if (isAnswered) socket.end()
  else socket.end(response(answer))
  cutLater(socket, socket)
}

/**
 * Lets a client go on sending a body that is answered already. Node reads and drops it; a client that does not
 * come to the end in time is cut.
 */
export function dropRest(request: IncomingMessage): void {
  if (!request.complete) cutLater(request.socket, request)
}

/** Cutting at once, with bytes of the client unread, would reset the connection and could lose the answer. */
function cutLater(socket: Socket, unless: Socket | IncomingMessage): void {
  const cut = setTimeout(() => socket.destroy(), LINGER)
  unless.once('close', () => clearTimeout(cut))
}

/** Puts into the envelope what Node would otherwise answer, or cut off, by itself. */
export function refuseUnroutable(
  server: Server,
  route: (request: IncomingMessage, response: ServerResponse) => void,
) {
  // An expectation other than 100-continue may be ignored (RFC 9110 §10.1.1); Node would answer 417.
  server.on('checkExpectation', route)
  // This is no proxy (RFC 9110 §9.3.6); Node would close the connection without an answer. It has taken its own
  // listeners off the socket, without one of which a reset by the client would end the process.
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => socket.destroy())
    refuseConnection(new Error('CONNECT'), socket)
  })
}

/** Puts something between a server and what serves its requests. */
export function serveThrough(server: Server, wrap: (serve: RequestListener) => RequestListener): void {
  for (const event of ['request', 'checkExpectation']) {
    for (const serve of server.listeners(event) as RequestListener[]) {
      server.off(event, serve).on(event, wrap(serve))
    }
  }
}

/**
 * What Node's parser lets pass although it is no request of HTTP/1.0 or 1.1, or is over the limit.
 * @param headerLimit bytes that the header block may have.
 * @returns how to refuse the request, if it is to be refused; the connection is then to be closed.
 */
export function nonconformance(
  { httpVersion, headers, rawHeaders, url = '' }: IncomingMessage,
  headerLimit: number,
): Failure | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return failure.badRequest
  // The absolute form is for proxies, which this is none of; `*` is for OPTIONS (RFC 9112 §3.2).
  if (!url.startsWith('/') && url !== '*') return failure.badRequest
  // Any other coding would be taken for chunked; HTTP/1.0 has none (RFC 9112 §6.1).
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return failure.badRequest
  // RFC 9112 §3.2: one valid Host, which only HTTP/1.0 may leave out.
  if (headers.host === undefined ? httpVersion === '1.1' : !HOST.test(headers.host)) return failure.badRequest
  // Node's own count leaves out the colon, the space and the end of each line.
  let size = 2 * rawHeaders.length
  for (const part of rawHeaders) size += part.length
  return size > headerLimit ? failure.headersTooLarge : undefined
}

/** The answer under way, or due to a complete request, if it is not that to the bad request itself. */
function earlierAnswer(socket: Socket): ServerResponse | undefined {
  const answer = current(socket)
  return answer?.headersSent || answer?.req.complete ? answer : undefined
}

/** Where the answer to a request goes whose turn it is; the request itself if there is no connection, as in tests. */
export function answerTo(request: IncomingMessage): EventEmitter {
  return current(request.socket) ?? request
}

/** The first answer that is not finished. `_httpMessage` is what Node's own handler looks at. */
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
