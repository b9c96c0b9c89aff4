import { type Address, LOAD_BALANCE_HOSTS, SESSION_ATTRS, type ServerTarget } from '../client-server/hosts.ts'
import { TLS_MODES, tlsSettings } from '../client-server/tls.ts'
import { oneOf, parsePort, parseServerUrl, unknownParameter } from '../client-server/url.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * For what is undefined, pg uses a PG… variable or else the default of libpq; the default host is localhost. A host may
 * be the directory of a Unix socket, beginning with a slash.
 */
export interface PostgresTarget extends ServerTarget {
  readonly database: string | undefined
  readonly channelBinding: 'disable' | 'prefer' | 'require'
  /** Passed to the server unchanged, as in libpq. */
  readonly options: string | undefined
  readonly applicationName: string
}

const CHANNEL_BINDINGS = ['disable', 'prefer', 'require'] as const

/** Parameters that are ignored: they set a default, or something that the service decides itself. */
const WITHOUT_EFFECT = new Set([
  'connect_timeout',
  'fallback_application_name',
  'keepalives',
  'keepalives_idle',
  'keepalives_interval',
  'keepalives_count',
  'sslcompression',
  'sslsni',
  'tcp_user_timeout',
  // Supabase prints these in its URLs, for other clients.
  'pgbouncer',
  'supa',
])

/** The variables of libpq for parameters. pg itself reads PGPASSWORD, PGPASSFILE and PGOPTIONS. */
const VARIABLES: Readonly<Record<string, string>> = {
  hostaddr: 'PGHOSTADDR',
  port: 'PGPORT',
  dbname: 'PGDATABASE',
  user: 'PGUSER',
  application_name: 'PGAPPNAME',
  gssencmode: 'PGGSSENCMODE',
  sslnegotiation: 'PGSSLNEGOTIATION',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
  load_balance_hosts: 'PGLOADBALANCEHOSTS',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  channel_binding: 'PGCHANNELBINDING',
}

/** Variables of libpq for parameters that are unknown here. They would change where or how the service connects. */
const UNKNOWN_VARIABLES = [
  'PGSERVICE',
  'PGREQUIREAUTH',
  'PGREQUIREPEER',
  'PGREQUIRESSL',
  'PGSSLCRL',
  'PGSSLCRLDIR',
  'PGSSLMINPROTOCOLVERSION',
]

/** A name, an address, or the directory of a socket. Anything else may contain a password, and would be shown. */
const HOST = /^(?:[\p{L}\p{N}._:%-]*|\/[^;=]*)$/u

/**
 * Reads `postgres://…` or `postgresql://…`.
 * @throws Error whose message says what is wrong and contains no password.
 */
export function parsePostgresUrl(text: string, environment: Environment = process.env): PostgresTarget {
  const { parameters, ...url } = parseServerUrl(text)
  const parts = {
    user: url.user,
    password: url.password,
    host: url.hosts.map(({ host }) => host).join(),
    ...(url.hosts.some(({ port }) => port) && { port: url.hosts.map(({ port }) => port).join() }),
    dbname: url.database,
    // For JDBC URLs, as in libpq.
    ...(parameters.get('ssl') === 'true' && { sslmode: 'require' }),
  }
  // A parameter replaces a part of the URL, because the path of a socket cannot be written as the host.
  const given = new Map([...Object.entries(parts), ...parameters])
  if (given.get('ssl') === 'true') given.delete('ssl')
  return target(given, text, environment)
}

/**
 * Reads the keyword form of libpq, `host=… dbname='with blanks'`, where \ escapes the next character.
 * @throws Error whose message says what is wrong and contains no password.
 */
export function parsePostgresKeywords(text: string, environment: Environment = process.env): PostgresTarget {
  const parameters = new Map<string, string>()
  let rest = text.trimStart()
  while (rest !== '') {
    const pair = /^([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'(?=\s|$)|((?:[^\s'\\]|\\.)*)(?=\s|$))\s*/is.exec(
      rest,
    )
    if (pair === null) throw new Error("is not of the form name=value name='value with blanks'")
    const [whole, name = '', quoted, plain = ''] = pair
    if (name !== 'password' && /[;,]\w+=/.test(plain))
      throw new Error('has a ; or , between keywords: separate them by blanks')
    parameters.set(name, (quoted ?? plain).replace(/\\(.)/gs, '$1'))
    rest = rest.slice(whole.length)
  }
  return target(parameters, text, environment)
}

function target(
  given: ReadonlyMap<string, string | undefined>,
  text: string,
  environment: Environment,
): PostgresTarget {
  const parameters = new Map(given)
  const take = (name: string) => {
    const value = parameters.get(name) || environment[VARIABLES[name] ?? ''] || undefined
    parameters.delete(name)
    return value
  }
  /** Takes a parameter with a fixed set of values, which must not be empty. */
  const choose = <Known extends string>(name: string, known: readonly Known[]): Known | undefined => {
    if (parameters.get(name) === '') throw new Error(`has an empty ${name}`)
    return oneOf(name, take(name), known)
  }
  const [host, address] = [take('host'), take('hostaddr')]
  const mode = choose('sslmode', TLS_MODES)
  const authority = take('sslrootcert')
  const result: PostgresTarget = {
    user: take('user'),
    password: take('password'),
    hosts: addresses(host ?? address ?? environment.PGHOST, take('port')),
    sessionAttrs: choose('target_session_attrs', SESSION_ATTRS),
    loadBalanceHosts: choose('load_balance_hosts', LOAD_BALANCE_HOSTS) ?? 'disable',
    database: take('dbname'),
    tls: tlsSettings({
      mode: mode ?? (authority === 'system' ? 'verify-full' : 'prefer'),
      authority,
      certificate: take('sslcert'),
      key: take('sslkey'),
    }),
    channelBinding: choose('channel_binding', CHANNEL_BINDINGS) ?? 'prefer',
    options: take('options'),
    applicationName: take('application_name') ?? 'book-catalogue',
  }
  if (host !== undefined && address !== undefined)
    throw new Error('has both host and hostaddr (PGHOSTADDR): give one')
  if (authority === 'system' && result.tls.mode !== 'verify-full') {
    throw new Error('has sslrootcert=system, which needs sslmode=verify-full')
  }
  choose('gssencmode', ['disable', 'prefer'])
  choose('sslnegotiation', ['postgres'])
  choose('client_encoding', ['UTF8', 'utf8', 'UTF-8', 'utf-8', 'auto'])
  if (/:\/\/|password\s*=/i.test(result.database ?? ''))
    throw new Error('has a URL or keywords in place of the name of the database')
  const variable = UNKNOWN_VARIABLES.find((name) => environment[name])
  if (variable !== undefined) throw new Error(`cannot be used with the variable ${variable}: unset it`)
  const [unknown] = [...parameters.keys()].filter((name) => !WITHOUT_EFFECT.has(name))
  if (unknown !== undefined) throw unknownParameter(unknown, text, 'those of libpq')
  return result
}

/** Reads lists separated by commas, as libpq does. A single port applies to all hosts. */
function addresses(hostList = '', portList = ''): Address[] {
  const [hosts, ports] = [hostList.split(','), portList.split(',')]
  if (hosts.length > 1 && hosts.includes('')) throw new Error('has an empty host among several')
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new Error('has another number of ports than of hosts: give one for all, or one for each')
  return hosts.map((host, i) => {
    if (!HOST.test(host)) throw new Error('has a host with a character that no host has')
    const port = ports[ports.length === 1 ? 0 : i]
    return { host: host || undefined, port: port ? parsePort(port) : undefined }
  })
}
