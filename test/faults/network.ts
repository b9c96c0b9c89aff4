import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Databases } from '../support/database-server.ts'

/**
 * While it is silent, each new connection gets some more bytes of the server than the one before, up to all that the
 * server says until a connection can be used.
 */
const [STEP, LAST_BYTES] = [7, 500]

/**
 * A connection of a client through the network to the server.
 * @param budget how many bytes of the server come through.
 * @param isLost whether what the server has just said cuts the connection.
 */
function linkUp(client: Socket, server: Socket, budget: number, isLost: () => boolean) {
  let left = budget
  /** What the client has sent that is kept back, if anything is. */
  let held: Buffer[] | undefined
  const cut = () => {
    client.destroy()
    server.destroy()
  }
  client.on('data', (data: Buffer) => {
    if (held !== undefined) held.push(data)
    else if (left > 0) server.write(data)
  })
  server.on('data', (data: Buffer) => {
    if (isLost()) cut()
    else if (left > 0) client.write(data.subarray(0, left))
    left = Math.max(0, left - data.length)
  })
  const isPassed = () => held === undefined && left > 0
  // A service that closes a connection with a response in it resets it.
  client.on('error', () => isPassed() && server.destroy())
  client.on('end', () => isPassed() && server.end())
  server.on('error', () => isPassed() && client.destroy())
  server.on('end', () => isPassed() && client.end())
  return {
    cut,
    silence() {
      left = 0
    },
    hold() {
      held = []
    },
    async letGo(): Promise<void> {
      if (held === undefined || server.destroyed) return
      for (const data of held.splice(0)) server.write(data)
      server.end()
      if (!server.readableEnded) await Promise.race([once(server, 'end'), once(server, 'close')])
    },
    endServer: () => server.destroy(),
  }
}

export type Network = Awaited<ReturnType<typeof openNetwork>>

/** A way through the network to a database server, on which connections can fall silent, as no server makes them. */
export async function openNetwork({ host, port }: Databases) {
  // Nobody is told either that a connection ends.
  const proxy = createServer({ allowHalfOpen: true })
  const links = new Set<ReturnType<typeof linkUp>>()
  let waiting: Socket[] = []
  let together = 1
  let isLosing = false
  let isSilent = false
  let stuck = 0

  proxy.on('connection', (client) => {
    // Who does not wait any more is not counted.
    waiting = waiting.filter(({ destroyed }) => !destroyed).concat(client.on('error', () => {}))
    if (waiting.length < together) return
    together = 1
    for (const each of waiting.splice(0)) {
      const budget = isSilent ? (STEP * stuck++) % LAST_BYTES : Number.POSITIVE_INFINITY
      const server = connect({ host, port, allowHalfOpen: true })
      links.add(
        linkUp(each, server, budget, () => {
          const isLost = isLosing
          isLosing = false
          return isLost
        }),
      )
    }
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const { port: ownPort } = proxy.address() as AddressInfo

  return {
    /** The same URL, but through here. */
    url: (url: string) => Object.assign(new URL(url), { host: `127.0.0.1:${ownPort}` }).href,

    /** Holds new connections up until there are so many, and then lets all of them through at the same moment. */
    gather(connections: number): void {
      together = connections
    },

    /** Cuts the connection on which the server next says something, before anybody hears it. */
    loseResponse(): void {
      isLosing = true
    },

    /** From now on keeps what clients send on the connections that there are, even after they have given up. */
    hold(): void {
      for (const link of links) link.hold()
    },

    /** Sends on what was held. @returns when the server has done it, and has ended the connections. */
    async letGo(): Promise<void> {
      await Promise.all(Array.from(links, (link) => link.letGo()))
    },

    /** From now on nothing comes through, and nobody is told. What connects gets stuck at any point of that. */
    fallSilent(): void {
      isSilent = true
      for (const link of links) link.silence()
    },

    /** New connections work again. The others stay silent; the server is told that they are gone. */
    restore(): void {
      isSilent = false
      for (const link of links) link.endServer()
      links.clear()
    },

    async [Symbol.asyncDispose](): Promise<void> {
      for (const link of links) link.cut()
      proxy.close()
    },
  }
}
