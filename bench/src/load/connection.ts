import { connect, type Socket } from 'node:net'
import { HOST } from '../account.ts'
import type { Request } from './requests.ts'
import { ResponseParser } from './response-parser.ts'

/** The size of the buffer that a connection reads into, in bytes. */
const BUFFER_SIZE = 64 * 1024

/** What a connection tells the generator; times in milliseconds. */
export interface ConnectionEvents {
  /** The next request, or undefined to wait until `send` is called again, if ever. */
  next(): Request | undefined
  answered(time: number, latency: number, request: Request, status: number): void
  /** The connection has ended, and sends nothing more. */
  failed(reason: string): void
}

/** A client that sends one request after the other, each when the one before it was answered. */
export class Connection {
  readonly #events: ConnectionEvents
  readonly #socket: Socket
  readonly #parser = new ResponseParser()
  #request: Request | undefined
  #sentAt = 0
  #isClosed = false

  constructor(port: number, events: ConnectionEvents) {
    this.#events = events
    this.#socket = connect({
      port,
      host: HOST,
      noDelay: true,
      // One buffer for all that arrives costs the generator a third less than one for each chunk.
      onread: {
        buffer: Buffer.allocUnsafe(BUFFER_SIZE),
        callback: (size, buffer) => {
          this.#receive((buffer as Buffer).subarray(0, size))
          return true
        },
      },
    })
    this.#socket.on('connect', () => this.send())
    this.#socket.on('error', (error) => this.#fail(error.message))
    this.#socket.on('close', () => this.#fail('the connection was closed'))
  }

  get isWaiting(): boolean {
    return this.#request !== undefined
  }

  send(): void {
    this.#request = this.#events.next()
    if (this.#request === undefined) return
    this.#sentAt = performance.now()
    this.#socket.write(this.#request.text, 'latin1')
  }

  close(): void {
    this.#isClosed = true
    this.#request = undefined
    this.#socket.destroy()
  }

  #receive(data: Buffer): void {
    try {
      if (this.#parser.push(data)) this.#answered()
    } catch (error) {
      this.#fail((error as Error).message)
    }
  }

  #answered(): void {
    const request = this.#request
    if (request === undefined) throw new Error('an answer to no request')
    const now = performance.now()
    this.#request = undefined
    this.#events.answered(now, now - this.#sentAt, request, this.#parser.status)
    this.send()
  }

  #fail(reason: string): void {
    if (this.#isClosed) return
    this.close()
    this.#events.failed(reason)
  }
}
