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
 * @param budget how many bytes of the server come through before it falls silent.
 */
function linkUp(client: Socket, server: Socket, budget: number) {
  let left = budget
  /** What the client has sent since. */
  const held: Buffer[] = []
  client.on('data', (data: Buffer) => {
    if (left > 0) server.write(data)
    else held.push(data)
  })
  server.on('data', (data: Buffer) => {
    if (left > 0) client.write(data.subarray(0, left))
    left = Math.max(0, left - data.length)
  })
  // A service that closes a connection with a response in it resets it.
  client.on('error', () => left > 0 && server.destroy())
  client.on('end', () => left > 0 && server.end())
  server.on('error', () => left > 0 && client.destroy())
  server.on('end', () => left > 0 && client.end())
  return {
    client,
    server,
    silence() {
      left = 0
    },
    async letGo(): Promise<void> {
      if (left > 0 || server.destroyed) return
      for (const data of held) server.write(data)
      server.end()
      if (!server.readableEnded) await Promise.race([once(server, 'end'), once(server, 'close')])
    },
  }
}

export type Network = Awaited<ReturnType<typeof openNetwork>>

/** A way through the network to a database server, on which connections can fall silent. */
export async function openNetwork({ host, port }: Databases) {
  // Nobody is told either that a connection ends.
  const proxy = createServer({ allowHalfOpen: true })
  const links = new Set<ReturnType<typeof linkUp>>()
  let isSilent = false
  let stuck = 0

  proxy.on('connection', (client) => {
    const budget = isSilent ? (STEP * stuck++) % LAST_BYTES : Number.POSITIVE_INFINITY
    links.add(linkUp(client, connect({ host, port, allowHalfOpen: true }), budget))
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const { port: ownPort } = proxy.address() as AddressInfo

  return {
    /** The same URL, but through here. */
    url: (url: string) => Object.assign(new URL(url), { host: `127.0.0.1:${ownPort}` }).href,

    /** Falls silent for the connections that there are, and keeps what clients send, even after they have given up. */
    hold(): void {
      for (const link of links) link.silence()
    },

    /** Sends on what was kept. @returns when the server has done it, and has ended the connections. */
    async letGo(): Promise<void> {
      await Promise.all(Array.from(links, (link) => link.letGo()))
    },

    /** From now on nothing comes through, and nobody is told. What connects gets stuck at any point of that. */
    fallSilent(): void {
      isSilent = true
      this.hold()
    },

    /** New connections work again. The others stay silent; the server is told that they are gone. */
    restore(): void {
      isSilent = false
      for (const { server } of links) server.destroy()
      links.clear()
    },

    async [Symbol.asyncDispose](): Promise<void> {
      for (const { client, server } of links) for (const socket of [client, server]) socket.destroy()
      proxy.close()
    },
  }
}
