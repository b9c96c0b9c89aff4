import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** Writes that are begun, while somebody reads, before the event loop looks for new requests again. */
const WRITES_PER_TURN = 6

/** How long after a read somebody is taken to read, in milliseconds. */
const READING = 1000

/**
 * Serves reads at once, and writes, which wait for the disk anyway, in small portions, so that a read that comes behind
 * many writes does not wait for all of them. Where nobody reads, writes are served at once too.
 */
export class ReadsFirst {
  readonly #waiting: (() => void)[] = []
  #isScheduled = false
  #lastRead = Number.NEGATIVE_INFINITY
  #readsInTurn = 0

  /** To be put before each listener of a server. */
  readonly inOrder =
    (serve: RequestListener): RequestListener =>
    (request, response) => {
      if (isRead(request)) {
        this.#lastRead = performance.now()
        this.#readsInTurn++
        serve(request, response)
      } else if (this.#isScheduled || performance.now() - this.#lastRead < READING) {
        this.#waiting.push(() => serveIfOpen(serve, request, response))
        this.#schedule()
      } else serve(request, response)
    }

  /** For when it matters what a request is answered before what comes after it on the connection. */
  serveAll(): void {
    for (const serve of this.#waiting.splice(0)) serve()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#serveSome())
  }

  #serveSome(): void {
    // However many read, as many write.
    const portion = Math.max(WRITES_PER_TURN, this.#readsInTurn)
    this.#readsInTurn = 0
    for (const serve of this.#waiting.splice(0, portion)) serve()
    this.#isScheduled = false
    if (this.#waiting.length > 0) this.#schedule()
  }
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** The client may be gone by now, or have been refused for what it sent next. */
function serveIfOpen(serve: RequestListener, request: IncomingMessage, response: ServerResponse): void {
  if (request.socket.writable) serve(request, response)
}
