import type { TlsMode } from '../../src/store/client-server/tls.ts'

/** The administrator's URL, turned into that of a database and the user of the same name. */
export function databaseUrl(admin: string, name: string, password: string): string {
  const url = new URL(admin)
  url.username = name
  url.password = password
  url.pathname = name
  return url.href
}

/** The name of the database that a URL leads to. */
export function nameIn(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1))
}

/** The modes of TLS as the clients of MySQL name them. They have no `allow`. */
const MYSQL_MODES: Readonly<Partial<Record<TlsMode, string>>> = {
  disable: 'DISABLED',
  prefer: 'PREFERRED',
  require: 'REQUIRED',
  'verify-ca': 'VERIFY_CA',
  'verify-full': 'VERIFY_IDENTITY',
}

/** @returns the URL with a mode of TLS, and the file of an authority. */
export function withTls(text: string, mode: TlsMode, authority?: string): string {
  const url = new URL(text)
  const isMysql = url.protocol === 'mysql:'
  url.searchParams.set(isMysql ? 'ssl-mode' : 'sslmode', isMysql ? (MYSQL_MODES[mode] ?? mode) : mode)
  if (authority !== undefined) url.searchParams.set(isMysql ? 'ssl-ca' : 'sslrootcert', authority)
  return url.href
}
