import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, isIPv6, Server } from 'node:net'
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

/** Addresses of a name that this machine cannot use, such as those of IPv6 without IPv6. */
const UNUSABLE = ['EADDRNOTAVAIL', 'EAFNOSUPPORT']

/** The servers at the other addresses of a name. Their connections are those of the first one. */
const others = new WeakMap<Server, Server[]>()

/**
 * Calls Node's own `listen` instead of Fastify's. Without a host it listens on IPv6 and IPv4, or on IPv4 alone if there
 * is no IPv6. With a name it listens on all addresses of the name, where Node would take the first.
 * @returns the URL at which this machine reaches the server.
 * @throws OperatorError if the server cannot listen on the address.
 */
export async function listen(server: Server, address: Address): Promise<string> {
  const { host } = address
  let port: number
  try {
    port = await listenOnAll(server, address)
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, address)
  }
  const name = host === undefined || host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${isIPv6(name) ? `[${name}]` : name}:${port}`
}

/** Ends what `listen` began. @returns when all connections have ended. */
export async function stopListening(server: Server): Promise<void> {
  const all = [server, ...(others.get(server) ?? [])]
  const ended = all.map((each) => once(each, 'close'))
  // The `close` of HTTP would cut idle connections. Bun's HTTP server is no `Server` of node:net.
  for (const each of all) (each instanceof Server ? Server.prototype : HttpServer.prototype).close.call(each)
  await Promise.all(ended)
}

/** @returns the port. */
async function listenOnAll(server: Server, address: Address): Promise<number> {
  const { host } = address
  const found = host === undefined ? [] : await lookup(host, { all: true })
  const hosts = host === undefined ? [host] : new Set(found.map((each) => each.address))
  let { port } = address
  let unusable: unknown
  for (const each of hosts) {
    const next = server.listening ? createServer({ allowHalfOpen: true, noDelay: true }) : server
    try {
      port = await listenOn(next, { ...address, host: each, port })
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (UNUSABLE.includes(code)) {
        unusable ??= error
        continue
      }
      if (next === server) throw error
      await stopListening(server)
      others.delete(server)
      // The system chose it for the first address alone.
      if (address.port === 0 && code === 'EADDRINUSE') return await listenOnAll(server, address)
      throw error
    }
    if (next !== server) {
      for (const event of ['connection', 'error']) next.on(event, (...what) => server.emit(event, ...what))
      others.set(server, [...(others.get(server) ?? []), next])
    }
  }
  if (!server.listening) throw unusable
  return port
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

/**
 * @returns the port of the address, or a free one for port 0.
 * @throws OperatorError if another process listens on the address.
 */
export async function requireFreePort(address: Address): Promise<number> {
  const server = createServer()
  await listen(server, address)
  const { port } = server.address() as AddressInfo
  await stopListening(server)
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
    case 'EAFNOSUPPORT':
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
