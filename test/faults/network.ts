import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Databases } from '../support/database-server.ts'

/** While it is silent, each new connection gets some more bytes of the server than the one before, up to all that
 * the server says until a connection can be used. */
const [STEP, LAST_BYTES] = [7, 500]

interface Link {
  readonly client: Socket
  readonly server: Socket
  silence(afterBytes: number): void
  hold(): void
  letGo(): void
}

/** A way through the network to a database server, on which connections can fall silent, as no server makes them. */
export class Network implements AsyncDisposable {
  readonly #proxy: Server
  readonly #links = new Set<Link>()
  readonly #held = new Set<Socket>()
  #together = 1
  #losing = false
  #silent = false
  #stuck = 0

  static async open({ host, port }: Databases): Promise<Network> {
    // Nobody is told either that a connection ends.
    const proxy = createServer({ allowHalfOpen: true })
    const network = new Network(proxy, () => connect({ host, port, allowHalfOpen: true }))
    await once(proxy.listen(0, '127.0.0.1'), 'listening')
    return network
  }

  constructor(proxy: Server, reach: () => Socket) {
    this.#proxy = proxy
    proxy.on('connection', (client) => {
      // Who does not wait any more is not counted.
      this.#held.add(client.once('close', () => this.#held.delete(client)))
      if (this.#held.size < this.#together) return
      this.#together = 1
      for (const each of this.#held) this.#link(each, reach())
      this.#held.clear()
    })
  }

  /** The same URL, but through here. */
  url(url: string): string {
    const through = new URL(url)
    through.host = `127.0.0.1:${(this.#proxy.address() as AddressInfo).port}`
    return through.href
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

  /** Sends on what was held. */
  letGo(): void {
    for (const link of this.#links) link.letGo()
  }

  /** From now on nothing comes through, and nobody is told. What connects gets stuck at any point of that. */
  fallSilent(): void {
    this.#silent = true
    for (const link of this.#links) link.silence(0)
  }

  /** New connections work again. The others stay silent; the server is told that they are gone. */
  restore(): void {
    this.#silent = false
    for (const { server } of this.#links) server.destroy()
    this.#links.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { client, server } of this.#links) for (const socket of [client, server]) socket.destroy()
    this.#proxy.close()
  }

  #link(client: Socket, server: Socket): void {
    let budget = Number.POSITIVE_INFINITY
    const link: Link = {
      client,
      server,
      silence: (afterBytes) => {
        budget = afterBytes
      },
      hold: () => {
        held = []
      },
      letGo: () => {
        for (const send of held?.splice(0) ?? []) send()
        held = undefined
      },
    }
    let held: (() => void)[] | undefined
    /** Does it when nothing is held. */
    const pass = (from: Socket, send: () => void) => {
      if (from === client && held !== undefined) held.push(send)
      else send()
    }
    if (this.#silent) link.silence((STEP * this.#stuck++) % LAST_BYTES)
    this.#links.add(link)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('data', (data: Buffer) => {
        if (from === server && this.#losing) {
          this.#losing = false
          client.destroy()
          server.destroy()
        }
        if (budget > 0) pass(from, () => to.write(data.subarray(0, budget)))
        if (from === server) budget = Math.max(0, budget - data.length)
      })
      // A service that closes a connection with a response in it resets it.
      from.on('error', () => {
        if (budget > 0) pass(from, () => to.destroy())
      })
      from.on('end', () => {
        if (budget > 0) pass(from, () => to.end())
      })
    }
  }
}
