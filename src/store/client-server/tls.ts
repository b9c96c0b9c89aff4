import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type ConnectionOptions, createSecureContext } from 'node:tls'
import { StoreNotOpened } from '../../catalogue/store.ts'
import { refuseShellPath } from '../../setting-file.ts'

/**
 * How a connection is encrypted: the values of PostgreSQL's sslmode. `allow` uses TLS if the server requires it,
 * `prefer` if the server supports it, `require` always. `verify-ca` also checks who signed the server's certificate,
 * and `verify-full` also its host name.
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

/** @throws Error if the settings contradict each other; the message continues the name of the setting. */
export function tlsSettings(settings: TlsSettings): TlsSettings {
  if ((settings.certificate === undefined) !== (settings.key === undefined)) {
    throw new Error('has only one of the two files of a certificate of the client: give sslcert and sslkey')
  }
  for (const path of [settings.authority, settings.certificate, settings.key]) refuseShellPath(path)
  return settings
}

/** Whether a trusted authority must have signed the server's certificate. */
function checksSigner({ mode, authority }: TlsSettings): boolean {
  // With an authority named, `require` means `verify-ca`, as in libpq.
  return mode === 'verify-ca' || mode === 'verify-full' || (mode === 'require' && authority !== undefined)
}

/** Whether the server's certificate must be for the name of the host. */
export function checksName(settings: TlsSettings): boolean {
  // Without a private authority, any certificate that Node trusts would do, and anybody can get one.
  const isOwn = settings.authority !== undefined && settings.authority !== 'system'
  return settings.mode === 'verify-full' || (checksSigner(settings) && !isOwn)
}

/**
 * @returns Node's options; empty without TLS.
 * @throws StoreNotOpened if a file cannot be read or has the wrong content.
 */
export function tlsOptions(settings: TlsSettings): ConnectionOptions {
  const { mode, authority, certificate, key } = settings
  if (mode === 'disable') return {}
  const files = {
    // Node would ignore a file without certificates, and then trust nobody.
    ...(authority !== undefined &&
      authority !== 'system' && { ca: read(authority, (pem) => new X509Certificate(pem)) }),
    ...(certificate !== undefined && { cert: read(certificate) }),
    ...(key !== undefined && { key: read(key) }),
  }
  // Checked here: a driver would fail with every connection, and perhaps not say why.
  use(() => createSecureContext(files), `the PEM in ${certificate} and ${key} cannot be used for TLS`)
  if (!checksSigner(settings)) return { ...files, rejectUnauthorized: false }
  return {
    ...files,
    rejectUnauthorized: true,
    ...(checksName(settings) ? {} : { checkServerIdentity: () => undefined }),
  }
}

function read(path: string, check: (pem: Buffer) => unknown = () => {}): Buffer {
  const pem = use(() => readFileSync(path), 'a file for TLS cannot be read')
  use(() => check(pem), `the PEM in ${path} cannot be used for TLS`)
  return pem
}

function use<Result>(work: () => Result, otherwise: string): Result {
  try {
    return work()
  } catch (cause) {
    throw new StoreNotOpened(`${otherwise}: ${(cause as Error).message}`, { cause })
  }
}
