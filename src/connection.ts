import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { envelope, type Failure, failure } from './envelope.ts'

/** How long a refused client may take to read the refusal before its connection is cut, in milliseconds. */
const LINGER = 1000

const FAILURES = new Map<string | undefined, Failure>([
  ['HPE_HEADER_OVERFLOW', failure.headersTooLarge],
  ['ERR_HTTP_REQUEST_TIMEOUT', failure.requestTimeout],
])

const refused = new WeakSet<Socket>()

/**
 * Answers what Node's HTTP parser turns away before there is a request to route: malformed or oversized
 * requests, and requests that take too long to arrive. The answer is in the envelope like every other; then the
 * connection is closed, because what follows on it cannot be told apart from the rest of the bad request.
 */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (refused.has(socket)) return
  refused.add(socket)
  if (!socket.writable || error.code === 'ECONNRESET' || owesEarlierAnswer(socket)) {
    socket.destroy()
    return
  }
  socket.end(response(FAILURES.get(error.code) ?? failure.badRequest))
  // Cutting at once, with bytes of the client unread, would reset the connection and could lose the answer.
  const cut = setTimeout(() => socket.destroy(), LINGER)
  socket.once('close', () => clearTimeout(cut))
}

/** Puts into the envelope what Node would otherwise answer, or cut off, by itself. */
export function refuseUnroutable(
  server: Server,
  route: (request: IncomingMessage, response: ServerResponse) => void,
) {
  // An expectation other than 100-continue may be ignored (RFC 9110 §10.1.1); Node would answer 417.
  server.on('checkExpectation', route)
  // This is no proxy (RFC 9110 §9.3.6); Node would close the connection without an answer.
  server.on('connect', (_request, socket: Socket) => refuseConnection(new Error('CONNECT'), socket))
}

/**
 * Whether an earlier request on this connection still waits for its answer, or for the rest of it: the client
 * would take the refusal for that. `_httpMessage` is what Node's own handler looks at.
 */
function owesEarlierAnswer(socket: Socket & { _httpMessage?: ServerResponse | null }): boolean {
  const current = socket._httpMessage
  return current != null && (current.headersSent || current.req.complete)
}

function response({ status, message }: Failure): string {
  const body = JSON.stringify(envelope({ status, message }, null))
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
