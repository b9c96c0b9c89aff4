import assert from 'node:assert/strict'
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

/** Sends bytes as they are and reads all that comes until the service closes the connection. */
export function receive(
  target: Target,
  bytes: string | Uint8Array,
  { time = 30_000, drip }: ExchangeOptions = {},
): Promise<Buffer> {
  const url = new URL(target.url)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isTls = url.protocol === 'https:'
  const port = Number(url.port) || (isTls ? 443 : 80)
  return new Promise<Buffer>((resolve, reject) => {
    const socket = isTls ? connectTls({ host, port, servername: host }) : connect({ host, port })
    const received: Buffer[] = []
    const fail = (why: string) => {
      socket.destroy()
      reject(new Error(`${why}; received: ${JSON.stringify(Buffer.concat(received).toString())}`))
    }
    const deadline = setTimeout(() => fail(`the connection is still open after ${time} ms`), time)
    const dripping = drip === undefined ? undefined : setInterval(() => socket.write(drip), 1000)
    socket
      .on('data', (chunk: Buffer) => {
        clearInterval(dripping)
        received.push(chunk)
      })
      .on('end', () => resolve(Buffer.concat(received)))
      .on('error', (error) => fail(error.message))
      .on('close', () => {
        clearTimeout(deadline)
        clearInterval(dripping)
      })
      .write(bytes)
  })
}

function parse(response: Buffer): Reply {
  const text = response.toString()
  const end = text.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n')
  const status = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine)?.[1]
  assert.ok(end !== -1 && status !== undefined, `no HTTP response: ${JSON.stringify(text)}`)
  const headers = new Headers(lines.map((line) => line.split(/: *(.*)/, 2) as [string, string]))
  const body = response.subarray(Buffer.byteLength(text.slice(0, end + 4)))
  if (headers.get('transfer-encoding') === 'chunked') return readReply(Number(status), headers, dechunk(body))
  const length = headers.get('content-length')
  if (length !== null) assert.equal(body.length, Number(length), 'the body is as long as Content-Length says')
  return readReply(Number(status), headers, body.toString())
}

/** RFC 9112 §7.1 */
function dechunk(body: Buffer): string {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.toString('latin1', at, lineEnd), 16)
    assert.ok(lineEnd !== -1 && size >= 0, 'a chunk begins with its size')
    if (size === 0) return Buffer.concat(chunks).toString()
    chunks.push(body.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}
