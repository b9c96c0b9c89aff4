import { isIP } from 'node:net'
import { parseServerUrl } from './server-url.ts'
import { TLS_MODES, type TlsMode, type TlsSettings } from './tls.ts'

/** How to reach a MySQL or MariaDB database. */
export interface MysqlTarget {
  readonly user: string | undefined
  readonly password: string | undefined
  readonly host: string
  readonly port: number
  /** The path of a Unix socket, used instead of host and port. */
  readonly socket: string | undefined
  readonly database: string
  readonly tls: TlsSettings
}

const DEFAULT_PORT = 3306

/** The names that MySQL's own clients give to the modes of TLS. */
const SSL_MODES: Record<string, TlsMode> = {
  disabled: 'disable',
  preferred: 'prefer',
  required: 'require',
  verify_ca: 'verify-ca',
  verify_identity: 'verify-full',
}

/** What hosted providers write: JSON with rejectUnauthorized, or just true. */
const SSL: Record<string, TlsMode> = {
  true: 'verify-full',
  '{}': 'verify-full',
  '{"rejectunauthorized":true}': 'verify-full',
  '{"rejectunauthorized":false}': 'require',
  false: 'disable',
}

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
    return value === '' ? undefined : value
  }
  const target: MysqlTarget = {
    user: url.user,
    password: url.password,
    host: url.host ?? 'localhost',
    port: url.port ?? DEFAULT_PORT,
    socket: take('socket', 'socketpath'),
    database: url.database,
    tls: {
      mode: tlsMode(take('sslmode', 'tls'), take('ssl')),
      authority: take('sslca'),
      certificate: take('sslcert'),
      key: take('sslkey'),
    },
  }
  if (target.tls.mode === 'verify-full' && isIP(target.host)) {
    throw new Error('has an address as its host, whose certificate cannot be checked by name: give the name')
  }
  const charset = take('charset')
  if (charset !== undefined && !charset.toLowerCase().startsWith('utf8mb4')) {
    throw new Error('has a charset other than utf8mb4')
  }
  const [unknown] = parameters.keys()
  if (unknown !== undefined)
    throw new Error(`has the parameter ${JSON.stringify(unknown)}, which is not known`)
  return target
}

/** Clients write ssl-mode, sslMode and ssl_mode. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

/** Without a mode, TLS is used if the server has it, as MySQL's own clients do. */
function tlsMode(mode: string | undefined, ssl: string | undefined): TlsMode {
  if (mode !== undefined) {
    const name = mode.toLowerCase()
    const known = TLS_MODES.find((each) => each === name) ?? SSL_MODES[name.replaceAll('-', '_')]
    if (known === undefined) throw new Error(`has an ssl-mode other than ${TLS_MODES.join(', ')}`)
    return known
  }
  if (ssl === undefined) return 'prefer'
  const known = SSL[ssl.toLowerCase().replaceAll(/\s/g, '')]
  if (known === undefined) throw new Error('has an ssl other than true, false, {"rejectUnauthorized":true}')
  return known
}
