import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv6, type Server } from 'node:net'
import { OperatorError } from '../errors.ts'

/**
 * How many connections may wait until the service accepts them, unless the system allows fewer. Node accepts one in each
 * turn of the event loop. When as many wait, the system ignores new ones, and clients try again after seconds.
 */
const BACKLOG = 4096

/** Where to listen. */
export interface Address {
  /** Undefined for every address of this machine. */
  readonly host: string | undefined
  /** 0 for any free port. */
  readonly port: number
  /** The name of the setting that the port is from, for messages. */
  readonly setting: string
  /** Whether other threads of the process listen on the same port. */
  readonly isShared?: boolean
}

/**
 * Calls Node's own `listen` instead of Fastify's. Without a host it listens on IPv6 and IPv4, or on IPv4 alone if there
 * is no IPv6.
 * @returns the URL at which this machine reaches the server.
 * @throws OperatorError if the server cannot listen on the address.
 */
export async function listen(server: Server, address: Address): Promise<string> {
  const { host, port, isShared = false } = address
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(cannotListen(error, address))
    server.once('error', refuse)
    server.listen({ host, port, backlog: BACKLOG, reusePort: isShared }, () => {
      server.off('error', refuse)
      resolve()
    })
  })
  const name = host === undefined || host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${isIPv6(name) ? `[${name}]` : name}:${(server.address() as AddressInfo).port}`
}

/**
 * @returns the port of the address, or a free one for port 0.
 * @throws OperatorError if another process listens on the address.
 */
export async function requireFreePort(address: Address): Promise<number> {
  const server = createServer()
  await listen(server, address)
  const { port } = server.address() as AddressInfo
  const closed = once(server, 'close')
  server.close()
  await closed
  return port
}

function cannotListen(error: NodeJS.ErrnoException, { host, port, setting }: Address): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new OperatorError(
        `${setting}: ${port} is in use; stop the program that uses it, or set another port`,
      )
    case 'EACCES':
      return new OperatorError(
        `${setting}: this user may not listen on ${port}; set another port, such as one above 1023`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return new OperatorError(
        `HOST: ${host ?? 'every address'} cannot be listened on: ${error.message}; set HOST in the file of settings, ` +
          'which comes before the environment, to an address of this machine, or to :: for all',
      )
    default:
      return error
  }
}
