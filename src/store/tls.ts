import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { StoreNotOpened } from './store.ts'

/**
 * How a connection is encrypted, in the words of PostgreSQL's sslmode: `allow` uses TLS if the server insists,
 * `prefer` if it can, `require` always; only `verify-ca` checks who signed the server's certificate, and only
 * `verify-full` also whose it is.
 */
export const TLS_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
export type TlsMode = (typeof TLS_MODES)[number]

export interface TlsSettings {
  readonly mode: TlsMode
  /** Paths of PEM files; `authority` may be 'system'. */
  readonly authority: string | undefined
  readonly certificate: string | undefined
  readonly key: string | undefined
}

/**
 * @returns Node's options for a connection that is encrypted.
 * @throws StoreNotOpened if a file cannot be read.
 */
export function tlsOptions({ mode, authority, certificate, key }: TlsSettings): ConnectionOptions {
  const files = {
    ...(authority !== undefined && authority !== 'system' && { ca: read(authority) }),
    ...(certificate !== undefined && { cert: read(certificate) }),
    ...(key !== undefined && { key: read(key) }),
  }
  // With an authority named, `require` means `verify-ca`, as in libpq. Without one the certificates are those that
  // Node trusts, and of these anybody may have one: then the name has to be checked as well.
  const checksSigner = mode === 'verify-ca' || mode === 'verify-full' || (mode === 'require' && 'ca' in files)
  if (!checksSigner) return { ...files, rejectUnauthorized: false }
  const checksName = mode === 'verify-full' || !('ca' in files)
  return {
    ...files,
    rejectUnauthorized: true,
    ...(checksName ? {} : { checkServerIdentity: () => undefined }),
  }
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new StoreNotOpened(`a file for TLS cannot be read: ${(error as Error).message}`)
  }
}
