import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Reply, readReply, type Target } from './client.ts'

export interface ExchangeOptions {
  /** How long the service may take to answer and to close the connection, in milliseconds. */
  readonly time?: number
  /** Sent again and again after the rest, once a second, until the service answers. */
  readonly drip?: string
}

/** A request with the path as it is, after which the service is asked to close the connection. */
export function request(target: Target, method: string, path: string, headers: string[] = [], body = '') {
  const { host, pathname } = new URL(target.url)
  const lines = [`Host: ${host}`, 'Connection: close', ...headers]
  if (body !== '') lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
  return `${method} ${pathname.replace(/\/$/, '')}${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}

/** The same without asking to close the connection, so that its end is the service's own doing. */
export function keepOpen(request: string): string {
  return request.replace('Connection: close\r\n', '')
}

/** Sends bytes as they are (a string as UTF-8) and reads the one response, which ends with the connection. */
export async function exchange(target: Target, bytes: string | Uint8Array, options: ExchangeOptions = {}) {
  return parse(await receive(target, bytes, options))
}

/** Reads all that comes until the service closes the connection. */
async function receive(
  target: Target,
  bytes: string | Uint8Array,
  { time = 30_000, drip }: ExchangeOptions,
): Promise<Buffer> {
  const url = new URL(target.url)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isTls = url.protocol === 'https:'
  const port = Number(url.port) || (isTls ? 443 : 80)
  const socket = isTls ? connectTls({ host, port, servername: host }) : connect({ host, port })
  const received: Buffer[] = []
  const timeout = new Error(`the connection is still open after ${time} ms`)
  const deadline = setTimeout(() => socket.destroy(timeout), time)
  const dripping = drip === undefined ? undefined : setInterval(() => socket.write(drip), 1000)
  socket
    .on('data', (chunk: Buffer) => {
      clearInterval(dripping)
      received.push(chunk)
    })
    .on('error', (error) => {
      error.message += `; received: ${JSON.stringify(Buffer.concat(received).toString())}`
    })
    .write(bytes)
  try {
    await once(socket, 'end')
  } finally {
    clearTimeout(deadline)
    clearInterval(dripping)
  }
  return Buffer.concat(received)
}

function parse(response: Buffer): Reply {
  const text = response.toString('latin1')
  const [, status, fields = '', body = ''] =
    /^HTTP\/1\.[01] (\d{3})(?: .*?)?\r\n(.*?)\r\n\r\n(.*)$/s.exec(text) ??
    assert.fail(`no HTTP response: ${JSON.stringify(text)}`)
  const headers = new Headers(
    fields.split('\r\n').map((line) => line.split(/: *(.*)/, 2) as [string, string]),
  )
  const isChunked = headers.get('transfer-encoding') === 'chunked'
  const length = headers.get('content-length')
  if (length !== null) assert.equal(body.length, Number(length), 'the body is as long as Content-Length says')
  const content = Buffer.from(isChunked ? dechunk(body) : body, 'latin1')
  return readReply(Number(status), headers, content.toString())
}

/** RFC 9112 §7.1 */
function dechunk(body: string): string {
  const [line = '', size = ''] =
    /^([\da-f]+).*\r\n/i.exec(body) ?? assert.fail('a chunk begins with its size')
  const end = line.length + Number.parseInt(size, 16)
  return end === line.length ? '' : body.slice(line.length, end) + dechunk(body.slice(end + 2))
}
