import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** So much of a request is let through before it is cut, in bytes: the service has begun to read it. */
const IN_THE_MIDDLE = 500_000

type Moment = 'sending' | 'answering'

/** What is kept back: a request that begins with this text, or its response. */
interface Holding {
  readonly request: string
  readonly what: 'request' | 'response'
  arrive(): void
  readonly released: Promise<void>
}

/** A way to the service on which connections can be cut, as a network does it. */
export class Relay implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #cutting: { readonly request: string; readonly when: Moment; times: number } | undefined
  #holding: Holding | undefined
  #cuts = 0
  #isAway = false

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
  cut(request: string, when: Moment, times = Number.POSITIVE_INFINITY): void {
    this.#cutting = { request, when, times }
  }

  restore(): void {
    this.#cutting = undefined
  }

  /** Keeps back the first request that begins with this text, or its response, until it is released. */
  hold(request: string, what: Holding['what'] = 'request'): { arrived: Promise<void>; release(): void } {
    const arrived = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.#holding = { request, what, arrive: arrived.resolve, released: released.promise }
    return { arrived: arrived.promise, release: released.resolve }
  }

  /** Whether the service cannot be reached. */
  set isAway(isAway: boolean) {
    this.#isAway = isAway
    if (isAway) for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isAway = true
    this.#server.close()
  }

  #link(client: Socket, service: Socket): void {
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      this.#sockets.add(from.once('close', () => this.#sockets.delete(from)))
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      from.on('end', () => to.end())
      to.on('drain', () => from.resume())
    }
    /** When the connection is to be cut, once the request has begun on it. */
    let when: Moment | undefined
    let sent = 0
    let response: Holding | undefined
    const pass = (from: Socket, to: Socket, data: Buffer) => to.write(data) || from.pause()
    const passLater = (holding: Holding, to: Socket, data: Buffer) => {
      holding.arrive()
      void holding.released.then(() => client.readyState === 'open' && to.write(data))
    }
    const cut = () => {
      this.#cuts++
      client.resetAndDestroy()
      service.resetAndDestroy()
    }
    client.on('data', (data: Buffer) => {
      const begins = (request: string | undefined) => request !== undefined && data.indexOf(request) === 0
      if (this.#cutting !== undefined && this.#cutting.times > 0 && begins(this.#cutting.request)) {
        this.#cutting.times--
        when = this.#cutting.when
      }
      if (when === 'sending') sent += data.length
      if (sent > IN_THE_MIDDLE) return cut()
      const holding = begins(this.#holding?.request) ? this.#holding : undefined
      if (holding !== undefined) this.#holding = undefined
      if (holding?.what === 'request') return passLater(holding, service, data)
      response ??= holding
      pass(client, service, data)
    })
    service.on('data', (data: Buffer) => {
      if (when === 'answering') return cut()
      if (response === undefined) return pass(service, client, data)
      passLater(response, client, data)
      response = undefined
    })
  }
}
