import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A connection on which nothing moves for so long, in milliseconds, is a failed test. */
const PATIENCE = 30_000

/** A response as it came over the wire. Header names are in lower case. */
export interface RawResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** The head of a request: its line without the version, and header fields beside Host. */
export const head = (line: string, ...fields: string[]) =>
  [`${line} HTTP/1.1`, 'Host: test', ...fields, '', ''].join('\r\n')

/** A TCP connection for requests that no HTTP client would send. */
export class RawConnection implements Disposable {
  readonly #socket: Socket
  /** What came and was not yet taken, one character for each byte. */
  #received = ''
  #closed = false
  #error: NodeJS.ErrnoException | undefined
  #news = Promise.withResolvers<void>()

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port || 80) })
    await once(socket, 'connect')
    return new RawConnection(socket)
  }

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.#received += text
      this.#tell()
    })
    socket.on('error', (error) => {
      this.#error = error
    })
    socket.on('close', () => {
      this.#closed = true
      this.#tell()
    })
    socket.setTimeout(PATIENCE, () => socket.destroy(new Error(`nothing moved for ${PATIENCE} ms`)))
  }

  /** Stops reading until the next response is asked for. */
  stopReading(): void {
    this.#socket.pause()
  }

  /** Sends bytes as they are; fulfilled when the system has taken them, or the connection is gone. */
  send(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()))
  }

  /** Closes its own side, and goes on reading. */
  finish(): void {
    this.#socket.end()
  }

  /** Waits for the next whole response. @throws if the connection ends before. */
  async response(): Promise<RawResponse> {
    this.#socket.resume()
    for (;;) {
      const response = this.#take()
      if (response !== undefined) return response
      if (this.#closed) {
        const received = JSON.stringify(this.#received)
        throw new Error(`the connection ended before a response; received ${received}`, {
          cause: this.#error,
        })
      }
      await this.#news.promise
    }
  }

  /** Waits until the server has closed or cut the connection. @returns what came and was not taken. */
  async rest(): Promise<string> {
    this.#socket.resume()
    while (!this.#closed) await this.#news.promise
    const cut = this.#error?.code === 'ECONNRESET' || this.#error?.code === 'EPIPE'
    if (this.#error !== undefined && !cut) throw this.#error
    return this.#received
  }

  /** Whether the server cut the connection, by which a client may lose what it has not read yet. */
  get wasCut(): boolean {
    return this.#error !== undefined
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  /** Ends the connection as a client that has crashed does. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }

  #tell(): void {
    this.#news.resolve()
    this.#news = Promise.withResolvers()
  }

  #take(): RawResponse | undefined {
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd === -1) return undefined
    const [statusLine = '', ...fields] = this.#received.slice(0, headEnd).split('\r\n')
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]
    if (status === undefined) throw new Error(`not a status line: ${statusLine}`)
    const headers = new Map(
      fields.map((field): [string, string] => {
        const colon = field.indexOf(':')
        return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()]
      }),
    )
    const length = headers.get('content-length') ?? (status === '100' ? '0' : undefined)
    if (length === undefined) throw new Error(`a response without Content-Length: ${this.#received}`)
    const bodyEnd = headEnd + 4 + Number(length)
    if (this.#received.length < bodyEnd) return undefined
    const body = Buffer.from(this.#received.slice(headEnd + 4, bodyEnd), 'latin1').toString()
    this.#received = this.#received.slice(bodyEnd)
    return { status: Number(status), headers, body }
  }
}

/** Sends what must be refused: one response, after which the server closes the connection. */
export async function refusal(url: string, bytes: string | Uint8Array): Promise<RawResponse> {
  using connection = await RawConnection.open(url)
  await connection.send(bytes)
  const response = await connection.response()
  assert.equal(response.headers.get('connection'), 'close', `${response.status} ${response.body}`)
  assert.equal(await connection.rest(), '', 'nothing follows the response')
  return response
}

/** Checks that an error is in the envelope (§2, §7), to the character. */
export function assertFailure(response: RawResponse, status: number, message: string): void {
  assert.equal(response.body, JSON.stringify({ status, message, data: null }))
  assert.equal(response.status, status)
  assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
}
