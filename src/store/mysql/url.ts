import { isIP } from 'node:net'
import { LOAD_BALANCE_HOSTS, SESSION_ATTRS, type ServerTarget } from '../client-server/hosts.ts'
import { checksName, type TlsMode, tlsSettings } from '../client-server/tls.ts'
import { oneOf, parseServerUrl, unknownParameter } from '../client-server/url.ts'

export interface MysqlTarget extends ServerTarget {
  /** The path of a Unix socket, which replaces the host. */
  readonly socket: string | undefined
  readonly database: string
}

const DEFAULT_PORT = 3306

/** The values of ssl-mode in MySQL's own clients. */
const MODES = {
  DISABLED: 'disable',
  PREFERRED: 'prefer',
  REQUIRED: 'require',
  VERIFY_CA: 'verify-ca',
  VERIFY_IDENTITY: 'verify-full',
} as const satisfies Record<string, TlsMode>
const MODE_NAMES = Object.keys(MODES) as (keyof typeof MODES)[]

const KNOWN = `ssl-mode (${MODE_NAMES.join(', ')}), ssl-ca, ssl-cert, ssl-key, socket, target_session_attrs and load_balance_hosts`

/**
 * Reads `mysql://…` or `mariadb://…`, with the parameters of MySQL's own clients.
 * @throws Error whose message says what is wrong and contains no password.
 */
export function parseMysqlUrl(text: string): MysqlTarget {
  const url = parseServerUrl(text)
  if (url.database === undefined) throw new Error('names no database')
  const parameters = new Map(url.parameters)
  const take = (name: string) => {
    const value = parameters.get(name)
    parameters.delete(name)
    return value
  }
  const given = oneOf('ssl-mode', take('ssl-mode')?.toUpperCase(), MODE_NAMES)
  const authority = take('ssl-ca') || undefined
  // By default, TLS is used if the server supports it, as in MySQL's own clients. An authority means checking.
  const mode = MODES[given ?? (authority === undefined ? 'PREFERRED' : 'VERIFY_CA')]
  const target: MysqlTarget = {
    user: url.user,
    password: url.password,
    hosts: url.hosts.map(({ host = 'localhost', port = DEFAULT_PORT }) => ({ host, port })),
    sessionAttrs: oneOf('target_session_attrs', take('target_session_attrs'), SESSION_ATTRS),
    loadBalanceHosts:
      oneOf('load_balance_hosts', take('load_balance_hosts'), LOAD_BALANCE_HOSTS) ?? 'disable',
    socket: take('socket') || undefined,
    database: url.database,
    tls: tlsSettings({
      mode,
      authority,
      certificate: take('ssl-cert') || undefined,
      key: take('ssl-key') || undefined,
    }),
  }
  if (url.hosts.length > 1 && (target.socket !== undefined || url.hosts.some(({ host }) => !host)))
    throw new Error('has several hosts, and a socket or an empty host: give hosts alone')
  const { hosts } = target
  if (target.socket === undefined && checksName(target.tls) && hosts.some(({ host }) => isIP(host ?? ''))) {
    throw new Error('has an address as its host, whose certificate cannot be checked by name: give the name')
  }
  const [unknown] = parameters.keys()
  if (unknown !== undefined) throw unknownParameter(unknown, text, KNOWN)
  return target
}
