import { failure } from './envelope.ts'

/** @returns what comes after the first `?` of a request target; an empty text if there is none. */
export function queryStringOf(target: string): string {
  const start = target.indexOf('?')
  return start === -1 ? '' : target.slice(start + 1)
}

/** Parameters as they were sent, decoded. */
export type Parameters<Name extends string> = { [Each in Name]?: string }

/**
 * Reads a query string as forms write it: `+` is a space. An empty one has no parameters.
 * @param known the parameters that there may be, by their names.
 * @throws failure.invalidQueryParameter for anything else, for a parameter that is given twice, and for what is
 *   malformed.
 */
export function parseQueryString<Name extends string>(
  queryString: string,
  known: Readonly<Record<Name, unknown>>,
): Parameters<Name> {
  const isKnown = (name: string): name is Name => Object.hasOwn(known, name)
  const parameters: Parameters<Name> = {}
  if (queryString === '') return parameters
  for (const part of queryString.split('&')) {
    const [, name = '', value = ''] = valid(/^([^=]*)=(.*)$/.exec(part) ?? undefined).map(decode)
    if (!isKnown(name) || name in parameters) throw failure.invalidQueryParameter
    parameters[name] = value
  }
  return parameters
}

/** @throws failure.invalidQueryParameter */
export function parseBoolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw failure.invalidQueryParameter
  return text === 'true'
}

/** @throws failure.invalidQueryParameter when there is no value. */
export function valid<Value>(value: Value | undefined): Value {
  if (value === undefined) throw failure.invalidQueryParameter
  return value
}

/** @throws failure.invalidQueryParameter for what is not UTF-8, or has a NUL, which is in no book (§2). */
function decode(text: string): string {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    if (!decoded.includes('\0')) return decoded
  } catch {
    // Answered as below.
  }
  throw failure.invalidQueryParameter
}
