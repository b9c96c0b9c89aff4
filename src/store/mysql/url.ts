import { isIP } from 'node:net'
import { type HostChoice, LOAD_BALANCE_HOSTS, SESSION_ATTRS } from '../client-server/hosts.ts'
import { checksName, TLS_MODES, type TlsMode, type TlsSettings, tlsSettings } from '../client-server/tls.ts'
import { oneOf, parseServerUrl, unknownParameter } from '../client-server/url.ts'

/** How to reach a MySQL or MariaDB database. */
export interface MysqlTarget extends HostChoice {
  readonly user: string | undefined
  readonly password: string | undefined
  /** The path of a Unix socket, used instead of the host. */
  readonly socket: string | undefined
  readonly database: string
  readonly tls: TlsSettings
}

const DEFAULT_PORT = 3306

/** The modes of TLS, also with the names of the clients of MySQL. */
const MODES: Readonly<Record<string, TlsMode>> = {
  ...(Object.fromEntries(TLS_MODES.map((mode) => [mode, mode])) as Record<TlsMode, TlsMode>),
  disabled: 'disable',
  preferred: 'prefer',
  required: 'require',
  'verify-identity': 'verify-full',
}

/** The values of sslaccept in URLs for Prisma. */
const SSLACCEPT: Readonly<Record<string, TlsMode>> = {
  strict: 'verify-full',
  'accept-invalid-certs': 'require',
}

/** The values of ssl that hosted providers write: JSON for mysql2, or just true. Node never uses a TLS older than 1.2. */
const SSL: Readonly<Record<string, TlsMode>> = {
  true: 'verify-full',
  '{}': 'verify-full',
  '{"minversion":"tlsv1.2"}': 'verify-full',
  '{"rejectunauthorized":true}': 'verify-full',
  '{"rejectunauthorized":true,"minversion":"tlsv1.2"}': 'verify-full',
  '{"minversion":"tlsv1.2","rejectunauthorized":true}': 'verify-full',
  '{"rejectunauthorized":false}': 'require',
  false: 'disable',
}

/** The values of useSSL and verifyServerCertificate in URLs for Connector/J. */
const USE_SSL: Readonly<Record<string, TlsMode>> = {
  'true,': 'require',
  'true,false': 'require',
  'true,true': 'verify-ca',
  'false,': 'disable',
  'false,false': 'disable',
}

/** Parameters without effect: the service decides this itself. */
const WITHOUT_EFFECT = new Set(['connecttimeout', 'reconnect'])

/**
 * Reads `mysql://…` or `mariadb://…`.
 * @throws Error whose message says what is wrong, without a password.
 */
export function parseMysqlUrl(text: string): MysqlTarget {
  const url = parseServerUrl(text)
  if (url.database === undefined) throw new Error('names no database')
  const parameters = new Map([...url.parameters].map(([name, value]) => [plain(name), value]))
  const take = (...names: string[]) => {
    const found = names.find((name) => parameters.has(name))
    const value = found === undefined ? undefined : parameters.get(found)
    if (found !== undefined) parameters.delete(found)
    return value
  }
  const authority = take('sslca') || undefined
  const target: MysqlTarget = {
    user: url.user,
    password: url.password,
    hosts: url.hosts.map(({ host = 'localhost', port = DEFAULT_PORT }) => ({ host, port })),
    sessionAttrs: oneOf('target_session_attrs', take('targetsessionattrs'), SESSION_ATTRS),
    loadBalanceHosts: oneOf('load_balance_hosts', take('loadbalancehosts'), LOAD_BALANCE_HOSTS) ?? 'disable',
    socket: take('socket', 'socketpath', 'unixsocket') || undefined,
    database: url.database,
    tls: tlsSettings({
      // By default TLS is used if the server supports it, as by the clients of MySQL. An authority means checking.
      mode: takeMode(take) ?? (authority === undefined ? 'prefer' : 'verify-ca'),
      authority,
      certificate: take('sslcert') || undefined,
      key: take('sslkey') || undefined,
    }),
  }
  if (url.hosts.length > 1 && (target.socket !== undefined || url.hosts.some(({ host }) => !host)))
    throw new Error('has several hosts, and a socket or an empty host: give hosts alone')
  const { hosts } = target
  if (target.socket === undefined && checksName(target.tls) && hosts.some(({ host }) => isIP(host ?? ''))) {
    throw new Error('has an address as its host, whose certificate cannot be checked by name: give the name')
  }
  const charset = take('charset')
  if (charset !== undefined && !/^utf8mb4(_|$)/i.test(charset)) {
    throw new Error('has a charset other than utf8mb4')
  }
  const unknown = [...url.parameters.keys()].find((name) => {
    return parameters.has(plain(name)) && !WITHOUT_EFFECT.has(plain(name))
  })
  if (unknown !== undefined) throw unknownParameter(unknown, text)
  return target
}

/** A name without the differences of ssl-mode, sslMode and ssl_mode. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

/** @returns undefined if no parameter names a mode. */
function takeMode(take: (name: string) => string | undefined): TlsMode | undefined {
  const one = (name: string, value: string | undefined, known: Readonly<Record<string, TlsMode>>) => {
    if (value === undefined) return []
    const word = value.toLowerCase().replaceAll(/\s/g, '').replaceAll('_', '-')
    const mode = Object.hasOwn(known, word) ? known[word] : undefined
    if (mode === undefined)
      throw new Error(`has ${name} that is not known; ssl-mode is one of ${TLS_MODES.join(', ')}`)
    return [mode]
  }
  const useSsl = `${take('usessl') ?? ''},${take('verifyservercertificate') ?? ''}`
  const [mode, ...others] = [
    ...one('an ssl-mode', take('sslmode'), MODES),
    ...one('a tls', take('tls'), MODES),
    ...one('an sslaccept', take('sslaccept'), SSLACCEPT),
    ...one('an ssl', take('ssl'), SSL),
    ...one('a useSSL or verifyServerCertificate', useSsl === ',' ? undefined : useSsl, USE_SSL),
  ]
  if (others.length > 0) throw new Error('says more than once how to use TLS: ssl-mode is enough')
  return mode
}
