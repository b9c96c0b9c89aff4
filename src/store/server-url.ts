/** The parts of the URL of a database server, decoded; what is absent is undefined. */
export interface ServerUrl {
  readonly user: string | undefined
  readonly password: string | undefined
  readonly host: string | undefined
  readonly port: number | undefined
  readonly database: string | undefined
  readonly parameters: ReadonlyMap<string, string>
}

/**
 * Reads `scheme://user:password@host:port/database?name=value`.
 * @throws Error whose message says what is wrong, without quoting anything that may be a password.
 */
export function parseServerUrl(text: string): ServerUrl {
  const match = /^[a-z]+:\/\/(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i.exec(text)
  if (match === null) {
    throw new Error(
      'is not of the form scheme://user:password@host/database (write special characters as %XX)',
    )
  }
  const [, account, address = '', database, query] = match
  const colon = account?.indexOf(':') ?? -1
  return {
    user: decode(colon === -1 ? account : account?.slice(0, colon)),
    password: decode(colon === -1 ? undefined : account?.slice(colon + 1)),
    ...parseAddress(address),
    database: decode(database),
    parameters: parseParameters(query ?? ''),
  }
}

/** @throws Error if it is no port. */
export function parsePort(text: string): number {
  if (!/^[0-9]{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 65535) {
    throw new Error('has a port that is not a number from 1 to 65535')
  }
  return Number(text)
}

function parseAddress(text: string): Pick<ServerUrl, 'host' | 'port'> {
  if (text.includes(','))
    throw new Error('names several hosts; name one, such as that of a proxy before them')
  const match = /^(?:\[([\da-f:.]+)\]|([^:[\]]*))(?::(.*))?$/i.exec(text)
  if (match === null) throw new Error('has an address that is not host:port')
  const [, ipv6, name, port] = match
  return { host: decode(ipv6 ?? name), port: port === undefined || port === '' ? undefined : parsePort(port) }
}

function parseParameters(query: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const [name = '', ...value] = pair.split('=')
    parameters.set(decode(name) ?? '', decode(value.join('=')) ?? '')
  }
  return parameters
}

function decode(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('has a % that does not begin a %XX')
  }
}
