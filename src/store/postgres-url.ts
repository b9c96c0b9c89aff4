import { parsePort, parseServerUrl } from './server-url.ts'
import { TLS_MODES, type TlsSettings } from './tls.ts'

/** How to reach a PostgreSQL database. What is undefined has libpq's default, also from the PG… variables. */
export interface PostgresTarget {
  readonly user: string | undefined
  readonly password: string | undefined
  /** A name, an address, or the directory of a Unix socket, which begins with a slash. */
  readonly host: string | undefined
  readonly port: number | undefined
  readonly database: string | undefined
  readonly tls: TlsSettings
  readonly channelBinding: 'disable' | 'prefer' | 'require'
  /** Passed to the server as they are (libpq's `options`). */
  readonly options: string | undefined
  readonly applicationName: string
}

const CHANNEL_BINDINGS = ['disable', 'prefer', 'require'] as const

/** Parameters of libpq that change nothing here: what they set is the default, or the service's own. */
const WITHOUT_EFFECT = new Set([
  'connect_timeout',
  'fallback_application_name',
  'keepalives',
  'keepalives_idle',
  'keepalives_interval',
  'keepalives_count',
  'sslcompression',
  'sslsni',
])

/**
 * Reads `postgres://…` or `postgresql://…`.
 * @throws Error whose message says what is wrong, without a password.
 */
export function parsePostgresUrl(text: string): PostgresTarget {
  const { parameters, ...url } = parseServerUrl(text)
  const given = new Map<string, string>(parameters)
  for (const [name, part] of [
    ['user', url.user],
    ['password', url.password],
    ['host', url.host],
    ['port', url.port?.toString()],
    ['dbname', url.database],
  ] as const) {
    if (part !== undefined) given.set(name, part)
  }
  return target(given)
}

/**
 * Reads libpq's other form, `host=… dbname=…`: values with blanks are in single quotes, in which \ escapes.
 * @throws Error as parsePostgresUrl does.
 */
export function parsePostgresKeywords(text: string): PostgresTarget {
  const parameters = new Map<string, string>()
  let rest = text.trimStart()
  while (rest !== '') {
    const pair = /^([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'(?=\s|$)|((?:[^\s'\\]|\\.)*)(?=\s|$))\s*/is.exec(
      rest,
    )
    if (pair === null) throw new Error("is not of the form name=value name='value with blanks'")
    const [whole, name = '', quoted, plain = ''] = pair
    parameters.set(name, (quoted ?? plain).replace(/\\(.)/gs, '$1'))
    rest = rest.slice(whole.length)
  }
  return target(parameters)
}

function target(given: ReadonlyMap<string, string>): PostgresTarget {
  const parameters = new Map(given)
  const take = (name: string) => {
    const value = parameters.get(name)
    parameters.delete(name)
    return value === '' ? undefined : value
  }
  const [host, address] = [take('host'), take('hostaddr')]
  const port = take('port')
  const result: PostgresTarget = {
    user: take('user'),
    password: take('password'),
    host: host ?? address,
    port: port === undefined ? undefined : parsePort(port),
    database: take('dbname'),
    tls: {
      mode: oneOf('sslmode', TLS_MODES, take('sslmode')) ?? 'prefer',
      authority: take('sslrootcert'),
      certificate: take('sslcert'),
      key: take('sslkey'),
    },
    channelBinding: oneOf('channel_binding', CHANNEL_BINDINGS, take('channel_binding')) ?? 'prefer',
    options: take('options'),
    applicationName: take('application_name') ?? 'book-catalogue',
  }
  if (host !== undefined && address !== undefined) throw new Error('has both host and hostaddr: give one')
  if (result.host?.includes(',')) throw new Error('names several hosts; name one, such as that of a proxy')
  if (result.tls.authority === 'system' && result.tls.mode !== 'verify-full') {
    throw new Error('has sslrootcert=system, which needs sslmode=verify-full')
  }
  oneOf('gssencmode', ['disable', 'prefer'], take('gssencmode'))
  oneOf('target_session_attrs', ['any', 'read-write', 'primary'], take('target_session_attrs'))
  oneOf('client_encoding', ['UTF8', 'utf8', 'UTF-8', 'utf-8', 'auto'], take('client_encoding'))
  const [unknown] = [...parameters.keys()].filter((name) => !WITHOUT_EFFECT.has(name))
  if (unknown !== undefined)
    throw new Error(`has the parameter ${JSON.stringify(unknown)}, which is not known`)
  return result
}

function oneOf<Known extends string>(
  name: string,
  known: readonly Known[],
  value: string | undefined,
): Known | undefined {
  const found = known.find((each) => each === value)
  if (value !== undefined && found === undefined)
    throw new Error(`has a ${name} other than ${known.join(', ')}`)
  return found
}
