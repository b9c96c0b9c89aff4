import type { Address } from './hosts.ts'

/**
 * Reads `scheme://user:password@host:port,host:port/database?name=value`. A part that is absent or empty is undefined.
 * @throws Error whose message says what is wrong, without anything that may be a password.
 */
export function parseServerUrl(text: string) {
  if (/\p{Cc}/u.test(text)) throw new Error('has a line break or another control character')
  // An @ after the account is refused: it would mean that the password contains an unescaped /.
  const match = /^[a-z]+:\/\/(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#@]*))?(?:\?([^#]*))?$/i.exec(text)
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
    hosts: address.split(',').map(parseAddress),
    database: decode(database),
    parameters: parseParameters(query ?? ''),
  }
}

/** @throws Error if the text is not a port. */
export function parsePort(text: string): number {
  if (!/^[0-9]{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 65535) {
    throw new Error('has a port that is not a number from 1 to 65535')
  }
  return Number(text)
}

/**
 * The error for an unknown parameter. It contains the name only if that cannot be part of an unescaped password: it
 * looks like a name, and comes after the account, but not after a parameter that may be a password.
 * @param text from which the parameter was read.
 */
export function unknownParameter(name: string, text: string, known: string): Error {
  const index = text.indexOf(name)
  const [before, after] = [text.slice(0, index), text.slice(index)]
  const isBehindAccount = before.includes('@') || !before.replace('://', '').includes(':')
  const isPiece = !isBehindAccount || after.includes('@') || /(?:^|[?&\s])(?:pass\w*|pwd)\s*=/i.test(before)
  // At the beginning, it may be all that was set.
  const isName = index > 0 && /^[a-z]+([._-]?[a-z]+)*$/i.test(name)
  return new Error(
    `has ${isName && !isPiece ? `the parameter "${name}"` : 'a parameter'}, which is not known; known are ${known}`,
  )
}

/** @throws Error if the parameter has a value that is not known. */
export function oneOf<Known extends string>(
  name: string,
  value: string | undefined,
  known: readonly Known[],
): Known | undefined {
  const found = known.find((each) => each === value)
  if (value !== undefined && found === undefined)
    throw new Error(`has a ${name} other than ${known.join(', ')}`)
  return found
}

function parseAddress(text: string): Address {
  const match = /^(?:\[([\da-f:.]+(?:%25[\w.-]+)?)\]|([^:[\]]*))(?::(.*))?$/i.exec(text)
  if (match === null) throw new Error('has an address that is not host:port')
  const [, ipv6, name, port] = match
  return { host: decode(ipv6 ?? name), port: port === undefined || port === '' ? undefined : parsePort(port) }
}

function parseParameters(query: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const [name = '', ...value] = pair.split('=')
    if (value.length === 0) throw new Error('has a parameter without a value')
    parameters.set(decode(name) ?? '', decode(value.join('=')) ?? '')
  }
  return parameters
}

function decode(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  let decoded: string
  try {
    decoded = decodeURIComponent(text)
  } catch {
    throw new Error('has a % that does not begin a %XX, in UTF-8')
  }
  // The protocols of the servers end a string at this character.
  if (decoded.includes('\0')) throw new Error('has a %00')
  return decoded
}
