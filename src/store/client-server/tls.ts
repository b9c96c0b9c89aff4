import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type ConnectionOptions, createSecureContext } from 'node:tls'
import { StoreNotOpened } from '../../catalogue/store.ts'

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

/** @throws Error, in words that follow the name of the setting, if the settings make no sense. */
export function tlsSettings(settings: TlsSettings): TlsSettings {
  if ((settings.certificate === undefined) !== (settings.key === undefined)) {
    throw new Error('has only one of the two files of a certificate of the client: give sslcert and sslkey')
  }
  return settings
}

/** Whether it is checked that the server's certificate is one of an authority that is trusted. */
function checksSigner({ mode, authority }: TlsSettings): boolean {
  // With an authority named, `require` means `verify-ca`, as in libpq.
  return mode === 'verify-ca' || mode === 'verify-full' || (mode === 'require' && authority !== undefined)
}

/** Whether it is checked that the server's certificate is for the name of the host. */
export function checksName(settings: TlsSettings): boolean {
  // Without an authority of one's own the certificates are those that Node trusts, and of these anybody may have one.
  const isOwn = settings.authority !== undefined && settings.authority !== 'system'
  return settings.mode === 'verify-full' || (checksSigner(settings) && !isOwn)
}

/**
 * @returns Node's options for a connection that is encrypted.
 * @throws StoreNotOpened if a file cannot be read, or does not hold what it should.
 */
export function tlsOptions(settings: TlsSettings): ConnectionOptions {
  const { mode, authority, certificate, key } = settings
  if (mode === 'disable') return {}
  const files = {
    ...(authority !== undefined && authority !== 'system' && { ca: readAuthority(authority) }),
    ...(certificate !== undefined && { cert: read(certificate) }),
    ...(key !== undefined && { key: read(key) }),
  }
  // Found out here, because a driver would find it out with every connection, or not say what it is.
  check(() => createSecureContext(files), `${certificate} and ${key}`)
  if (!checksSigner(settings)) return { ...files, rejectUnauthorized: false }
  return {
    ...files,
    rejectUnauthorized: true,
    ...(checksName(settings) ? {} : { checkServerIdentity: () => undefined }),
  }
}

/** Node would ignore a file without certificates, and then trust nobody. */
function readAuthority(path: string): Buffer {
  const file = read(path)
  check(() => new X509Certificate(file), path)
  return file
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new StoreNotOpened(`a file for TLS cannot be read: ${(error as Error).message}`)
  }
}

function check(use: () => unknown, paths: string): void {
  try {
    use()
  } catch (error) {
    throw new StoreNotOpened(`the PEM in ${paths} cannot be used for TLS: ${(error as Error).message}`, {
      cause: error,
    })
  }
}
