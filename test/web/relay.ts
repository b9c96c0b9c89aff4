import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** So much of a request is let through before it is cut, in bytes: the service has begun to read it. */
const IN_THE_MIDDLE = 500_000

interface Holding {
  readonly request: string
  readonly what: 'request' | 'response'
  readonly arrive: () => void
  readonly released: Promise<void>
}

/** A way to the service on which connections can be cut, as a network does it. */
export class Relay implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #cutting: { request: string; when: 'sending' | 'answering'; times: number } | undefined
  #cuts = 0
  #isAway = false
  #holding: Holding | undefined

  /** @param url that of the service now. It may be another one after a restart; that of the relay stays. */
  static async open(url: () => string): Promise<Relay> {
    const relay = new Relay(() => {
      const { hostname, port } = new URL(url())
      return connect(Number(port), hostname)
    })
    await once(relay.#server.listen(0, '127.0.0.1'), 'listening')
    return relay
  }

  constructor(reach: () => Socket) {
    this.#server = createServer((client) => {
      if (this.#isAway) client.resetAndDestroy()
      else this.#link(client, reach())
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** How many connections were cut. */
  get cuts(): number {
    return this.#cuts
  }

  /**
   * From now on a connection is cut on which a request begins with this text: in the middle of its body, or when the
   * service has done what it says and begins to answer. A browser may try again by itself.
   */
  cut(request: string, when: 'sending' | 'answering', times = Number.POSITIVE_INFINITY): void {
    this.#cutting = { request, when, times }
  }

  /**
   * Keeps back the first request that begins with this text, or its response, until it is released. It is lost if the
   * browser gives it up before.
   */
  hold(
    request: string,
    what: Holding['what'] = 'request',
  ): { readonly arrived: Promise<void>; release(): void } {
    const arrived = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.#holding = { request, what, arrive: arrived.resolve, released: released.promise }
    return { arrived: arrived.promise, release: released.resolve }
  }

  restore(): void {
    this.#cutting = undefined
  }

  /** Whether the service cannot be reached. */
  set isAway(isAway: boolean) {
    this.#isAway = isAway
    if (isAway) this.#destroyAll()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#destroyAll()
    this.#server.close()
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #link(client: Socket, service: Socket): void {
    /** What the connection is to be cut at, once the request has begun on it. */
    let when: 'sending' | 'answering' | undefined
    let sent = 0
    /** What holds the response, once the request has begun. */
    let response: Holding | undefined
    const cut = () => {
      this.#cuts++
      client.resetAndDestroy()
      service.resetAndDestroy()
    }
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      this.#sockets.add(from.once('close', () => this.#sockets.delete(from)))
      from.on('data', (data: Buffer) => {
        if (from === service) {
          if (when === 'answering') return cut()
          if (response !== undefined) {
            response.arrive()
            void response.released.then(() => client.readyState === 'open' && client.write(data))
            response = undefined
            return
          }
        } else {
          const cutting = this.#cutting
          if (cutting !== undefined && cutting.times > 0 && data.indexOf(cutting.request) === 0) {
            cutting.times--
            when = cutting.when
          }
          if (when === 'sending') sent += data.length
          if (sent > IN_THE_MIDDLE) return cut()
          const holding = this.#holding
          if (holding !== undefined && data.indexOf(holding.request) === 0) {
            this.#holding = undefined
            if (holding.what === 'response') {
              response = holding
              service.write(data)
              return
            }
            holding.arrive()
            void holding.released.then(() => client.readyState === 'open' && service.write(data))
            return
          }
        }
        if (!to.write(data)) from.pause()
      })
      to.on('drain', () => from.resume())
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      from.on('end', () => to.end())
    }
  }
}
