import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Databases } from '../support/database-server.ts'

/**
 * While it is silent, each new connection gets some more bytes of the server than the one before, up to all that the
 * server says until a connection can be used.
 */
const [STEP, LAST_BYTES] = [7, 500]

/** A connection of a client through the network to the server. */
class Link {
  readonly #client: Socket
  readonly #server: Socket
  /** How many more bytes of the server come through. */
  #budget: number
  /** What the client has sent that is kept back, if anything is. */
  #held: Buffer[] | undefined

  constructor(client: Socket, server: Socket, budget: number, onResponse: () => boolean) {
    this.#client = client
    this.#server = server
    this.#budget = budget
    client.on('data', (data: Buffer) => {
      if (this.#held !== undefined) this.#held.push(data)
      else if (this.#budget > 0) server.write(data)
    })
    server.on('data', (data: Buffer) => {
      if (onResponse()) this.cut()
      else if (this.#budget > 0) client.write(data.subarray(0, this.#budget))
      this.#budget = Math.max(0, this.#budget - data.length)
    })
    const isPassed = () => this.#held === undefined && this.#budget > 0
    // A service that closes a connection with a response in it resets it.
    client.on('error', () => isPassed() && server.destroy())
    client.on('end', () => isPassed() && server.end())
    server.on('error', () => isPassed() && client.destroy())
    server.on('end', () => isPassed() && client.end())
  }

  silence(): void {
    this.#budget = 0
  }

  hold(): void {
    this.#held = []
  }

  /** Sends on what was held. @returns when the server has done it, and has ended the connection. */
  async letGo(): Promise<void> {
    if (this.#held === undefined || this.#server.destroyed) return
    for (const data of this.#held.splice(0)) this.#server.write(data)
    this.#server.end()
    if (!this.#server.readableEnded)
      await Promise.race([once(this.#server, 'end'), once(this.#server, 'close')])
  }

  cut(): void {
    this.#client.destroy()
    this.#server.destroy()
  }

  endServer(): void {
    this.#server.destroy()
  }
}

/** A way through the network to a database server, on which connections can fall silent, as no server makes them. */
export class Network implements AsyncDisposable {
  // Nobody is told either that a connection ends.
  readonly #proxy = createServer({ allowHalfOpen: true })
  readonly #links = new Set<Link>()
  #waiting: Socket[] = []
  #together = 1
  #losing = false
  #silent = false
  #stuck = 0

  static async open({ host, port }: Databases): Promise<Network> {
    const network = new Network(() => connect({ host, port, allowHalfOpen: true }))
    await once(network.#proxy.listen(0, '127.0.0.1'), 'listening')
    return network
  }

  constructor(reach: () => Socket) {
    this.#proxy.on('connection', (client) => {
      // Who does not wait any more is not counted.
      this.#waiting = this.#waiting.filter(({ destroyed }) => !destroyed).concat(client.on('error', () => {}))
      if (this.#waiting.length < this.#together) return
      this.#together = 1
      for (const each of this.#waiting.splice(0)) {
        const budget = this.#silent ? (STEP * this.#stuck++) % LAST_BYTES : Number.POSITIVE_INFINITY
        this.#links.add(new Link(each, reach(), budget, () => this.#isLost()))
      }
    })
  }

  /** The same URL, but through here. */
  url(url: string): string {
    const { port } = this.#proxy.address() as AddressInfo
    return Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href
  }

  /** Holds new connections up until there are so many, and then lets all of them through at the same moment. */
  gather(connections: number): void {
    this.#together = connections
  }

  /** Cuts the connection on which the server next says something, before anybody hears it. */
  loseResponse(): void {
    this.#losing = true
  }

  /** From now on keeps what clients send on the connections that there are, even after they have given up. */
  hold(): void {
    for (const link of this.#links) link.hold()
  }

  /** Sends on what was held. @returns when the server has done it. */
  async letGo(): Promise<void> {
    await Promise.all([...this.#links].map((link) => link.letGo()))
  }

  /** From now on nothing comes through, and nobody is told. What connects gets stuck at any point of that. */
  fallSilent(): void {
    this.#silent = true
    for (const link of this.#links) link.silence()
  }

  /** New connections work again. The others stay silent; the server is told that they are gone. */
  restore(): void {
    this.#silent = false
    for (const link of this.#links) link.endServer()
    this.#links.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const link of this.#links) link.cut()
    this.#proxy.close()
  }

  #isLost(): boolean {
    const isLost = this.#losing
    this.#losing = false
    return isLost
  }
}
