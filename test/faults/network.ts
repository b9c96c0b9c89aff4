import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Databases } from '../support/database-server.ts'

/**
 * A connection of a client through the network to the server.
 * @param isSilent whether nothing comes through.
 * @param isLost whether what the server has just said cuts the connection.
 */
function linkUp(client: Socket, server: Socket, isSilent: boolean, isLost: () => boolean) {
  let isOpen = !isSilent
  /** What the client has sent that is kept back, if anything is. */
  let held: Buffer[] | undefined
  const cut = () => {
    client.destroy()
    server.destroy()
  }
  client.on('data', (data: Buffer) => {
    if (held !== undefined) held.push(data)
    else if (isOpen) server.write(data)
  })
  server.on('data', (data: Buffer) => {
    if (isLost()) cut()
    else if (isOpen) client.write(data)
  })
  const isPassed = () => held === undefined && isOpen
  // A service that closes a connection with a response in it resets it.
  client.on('error', () => isPassed() && server.destroy())
  client.on('end', () => isPassed() && server.end())
  server.on('error', () => isPassed() && client.destroy())
  server.on('end', () => isPassed() && client.end())
  return {
    cut,
    silence() {
      isOpen = false
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
  let isLosing = false
  let isSilent = false

  proxy.on('connection', (client) => {
    const server = connect({ host, port, allowHalfOpen: true })
    links.add(
      linkUp(client, server, isSilent, () => {
        const isLost = isLosing
        isLosing = false
        return isLost
      }),
    )
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const { port: ownPort } = proxy.address() as AddressInfo

  return {
    /** The same URL, but through here. */
    url: (url: string) => Object.assign(new URL(url), { host: `127.0.0.1:${ownPort}` }).href,

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

    /** From now on nothing comes through, and nobody is told. */
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
