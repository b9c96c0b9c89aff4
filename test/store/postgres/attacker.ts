import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connect as secure, TLSSocket } from 'node:tls'

/** What a client of PostgreSQL sends first, to ask for TLS. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Who is in between: a client takes it for the server. */
export interface Attacker {
  readonly port: number
  /** All that clients sent until they ended their connections, as it is after decryption. */
  received(): Promise<string>
  close(): void
}

/**
 * Starts one on 127.0.0.1.
 * @param certificate its own, for TLS; without one it says that it has none.
 * @param attack what it does with a connection once it is encrypted, or would be.
 */
export async function startAttacker(
  certificate: { readonly certFile: string; readonly keyFile: string } | undefined,
  attack: (client: Socket) => void,
): Promise<Attacker> {
  const received: Buffer[] = []
  const sockets: Socket[] = []
  const take = (client: Socket) => {
    client.on('error', () => {})
    client.on('data', (chunk: Buffer) => received.push(chunk))
    attack(client)
  }
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', (first: Buffer) => {
      if (!first.equals(SSL_REQUEST)) {
        take(socket)
        socket.emit('data', first)
      } else if (certificate === undefined) {
        socket.end('N')
      } else {
        socket.write('S')
        const [cert, key] = [readFileSync(certificate.certFile), readFileSync(certificate.keyFile)]
        take(new TLSSocket(socket, { isServer: true, cert, key }))
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async received() {
      await Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close')))
      return Buffer.concat(received).toString('latin1')
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Answers each message of the client with the next of these. */
export function response(...messages: readonly Buffer[]): (client: Socket) => void {
  return (client) => {
    const rest = [...messages]
    client.on('data', () => client.write(rest.shift() ?? Buffer.alloc(0)))
  }
}

/** Passes everything on to a real server and back, encrypted on both sides. */
export function relayTo(port: number): (client: Socket) => void {
  return (client) => {
    client.pause()
    const socket = connect(port, '127.0.0.1', () => socket.write(SSL_REQUEST))
    socket.once('data', () => {
      const server = secure({ socket, rejectUnauthorized: false })
      for (const each of [server, client]) each.on('error', () => server.destroy())
      client.pipe(server).pipe(client)
    })
  }
}

/** A message of the server about authentication (postgresql.org/docs/current/protocol-message-formats.html). */
function authentication(code: number, data: Buffer | string = ''): Buffer {
  const message = Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, code]), Buffer.from(data)])
  message.writeInt32BE(message.length)
  return Buffer.concat([Buffer.from('R'), message])
}

const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** What a server sends while a client logs in, and for a query. */
export const PROTOCOL = {
  ready: Buffer.concat([authentication(0), READY_FOR_QUERY]),
  emptyResult: Buffer.concat([Buffer.from([0x49, 0, 0, 0, 4]), READY_FOR_QUERY]),
  passwordInClear: authentication(3),
  passwordAsMd5: authentication(5, 'salt'),
  scram: authentication(10, 'SCRAM-SHA-256\0\0'),
  scramPlus: authentication(10, 'SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0'),
  challenge: authentication(11, 'r=x,s=eA==,i=4096'),
  proof: authentication(12, `v=${Buffer.alloc(32).toString('base64')}`),
} as const
