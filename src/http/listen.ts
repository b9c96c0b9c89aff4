import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { Server as HttpServer } from 'node:http'
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

/** Errors for an address that this machine cannot use, such as an IPv6 address without IPv6. */
const UNUSABLE = ['EADDRNOTAVAIL', 'EAFNOSUPPORT']

/** The additional servers of a host name with several addresses. They pass their connections to the first server. */
const others = new WeakMap<Server, Server[]>()

/**
 * Listens with Node's `listen`, not Fastify's. Without a host, it listens on IPv6 and IPv4, or on IPv4 alone if there
 * is no IPv6. With a name, it listens on all addresses of the name. Node would use only the first: for `localhost` that
 * is often ::1, where proxies that connect to 127.0.0.1 do not find the service.
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

/** Reverses `listen`. Resolves when all connections have ended. */
export async function stopListening(server: Server): Promise<void> {
  const all = [server, ...(others.get(server) ?? [])]
  const ended = all.map((each) => once(each, 'close'))
  // `close()` of an HTTP server would close idle connections. On Bun, an HTTP server is not a `Server` of node:net.
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
      // The port that the system chose is free at the first address, but not at this one: try another.
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

/** @returns the port, or a free one instead of 0. @throws OperatorError if another process listens on the address. */
export async function requireFreePort(address: Address): Promise<number> {
  const server = createServer()
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
    )
  if (code === 'EACCES')
    return new OperatorError(
      `${setting}: this user may not listen on ${port}; set another port, such as one above 1023`,
    )
  if ([...UNUSABLE, 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'].includes(code))
    return new OperatorError(
      `HOST: ${host ?? 'every address'} cannot be listened on: ${message}; set HOST in the file of settings, ` +
        'which comes before the environment, to an address of this machine, or to :: for all',
    )
  return error
}
