import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv6, Server } from 'node:net'
import { OperatorError } from '../errors.ts'

/**
 * The maximum number of connections that wait to be accepted, unless the system allows fewer. Node accepts one in each
 * turn of the event loop. The system ignores those beyond the maximum, and their clients try again after seconds.
 */
const BACKLOG = 4096

export interface Address {
  /** Undefined for every address of this machine. */
  readonly host: string | undefined
  /** 0 for any free port. */
  readonly port: number
  /** The setting that the port comes from, for error messages. */
  readonly setting: string
  /** Whether other threads of the process listen on the same port. */
  readonly isShared?: boolean
}

/**
 * Listens with Node's `listen`, not Fastify's. Without a host, it listens on IPv6 and IPv4, or on IPv4 alone if there
 * is no IPv6. Of the addresses of a name it prefers IPv4: `localhost` is often ::1 first, where proxies that connect to
 * 127.0.0.1 do not find the service, while clients that connect to `localhost` try both.
 * @returns the URL at which this machine reaches the server.
 * @throws OperatorError if the server cannot listen on the address.
 */
export async function listen(server: Server, address: Address): Promise<string> {
  const { host } = address
  let port: number
  try {
    port = await listenOn(server, host === undefined ? address : { ...address, host: await addressOf(host) })
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, address)
  }
  const name = host === undefined || host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${isIPv6(name) ? `[${name}]` : name}:${port}`
}

/** Reverses `listen`. Resolves when all connections have ended. */
export async function stopListening(server: Server): Promise<void> {
  const ended = once(server, 'close')
  // `close()` of an HTTP server would close idle connections. On Bun, an HTTP server is not a `Server` of node:net.
  const { close } = (server instanceof Server ? Server : process.getBuiltinModule('node:http').Server)
    .prototype
  close.call(server)
  await ended
  // Ends the timer of an HTTP server, which would keep the server and all that it uses in memory.
  server.close()
}

async function addressOf(host: string): Promise<string> {
  const found = await lookup(host, { all: true })
  return (found.find(({ family }) => family === 4) ?? found[0])?.address ?? host
}

async function listenOn(server: Server, { host, port, isShared = false }: Address): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: BACKLOG, reusePort: isShared }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return (server.address() as AddressInfo).port
}

/** @returns the port, or a free one instead of 0. @throws OperatorError if another process listens on the address. */
export async function requireFreePort(address: Address): Promise<number> {
  const server = createServer((connection) => connection.destroy())
  await listen(server, address)
  const { port } = server.address() as AddressInfo
  await stopListening(server)
  return port
}

function cannotListen(error: NodeJS.ErrnoException, { host, port, setting }: Address): Error {
  const { code = '', message } = error
  if (code === 'EADDRINUSE')
    return new OperatorError(
      `${setting}: ${port} is in use; stop the program that uses it, or set another port`,
      { cause: error },
    )
  if (code === 'EACCES')
    return new OperatorError(
      `${setting}: this user may not listen on ${port}; set another port, such as one above 1023`,
      { cause: error },
    )
  if (['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'].includes(code))
    return new OperatorError(
      `HOST: ${host ?? 'every address'} cannot be listened on: ${message}; set HOST to an address of this machine, ` +
        'or to :: for all, in the file of settings if there is one, which comes before the environment',
    )
  return error
}
