import type { Server } from 'node:http'
import { type AddressInfo, isIPv6 } from 'node:net'
import { OperatorError } from '../cli/command.ts'

/** Where to listen. */
export interface Address {
  /** Undefined for every address of this machine. */
  readonly host: string | undefined
  /** 0 for a free one. */
  readonly port: number
  /** The setting that the port is from, for messages. */
  readonly setting: string
}

/**
 * Node's own listen, because without a host it takes IPv6 and IPv4, or IPv4 alone where there is no IPv6.
 * @returns the URL under which the server can be reached from this machine.
 * @throws OperatorError if the address cannot be had.
 */
export async function listen(server: Server, address: Address): Promise<string> {
  const { host, port } = address
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(cannotListen(error, address))
    server.once('error', refuse)
    server.listen({ host, port }, () => {
      server.off('error', refuse)
      resolve()
    })
  })
  const name = host === undefined || host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${isIPv6(name) ? `[${name}]` : name}:${(server.address() as AddressInfo).port}`
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
      return new OperatorError(`HOST: ${host ?? 'every address'} cannot be listened on: ${error.message}`)
    default:
      return error
  }
}
