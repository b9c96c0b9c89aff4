import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { TLS_MODES, type TlsMode } from '../../../src/store/client-server/tls.ts'
import { makeCertificates } from '../../support/certificates.ts'
import type { DatabaseServer } from '../../support/database-server.ts'
import { withTls } from '../../support/database-url.ts'
import { ServerDirectory } from '../../support/server-directory.ts'

/** What becomes of a connection. */
export type Outcome = 'encrypted' | 'plain' | 'refused'

/** A server as it is tried with every mode. */
export interface Attempt {
  /** The URL of a database on it. */
  url(): string
  /** The file of the authority that DB_URL names, if it names one. */
  authority(): string | undefined
  readonly outcomes: (mode: TlsMode) => Outcome
  /** Why it refuses, in the words of the driver or the server. */
  readonly refusal: RegExp
}

/** Files of a certificate that is not for localhost, and of the authority that signed it. */
export interface Misnamed {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

const OUTCOMES = { P: 'plain', T: 'encrypted', X: 'refused' } as const

/** @param letters the outcome of each mode, in the order of TLS_MODES: P for plain, T for TLS, X for refused. */
export function outcomes(letters: string): (mode: TlsMode) => Outcome {
  return (mode) => {
    const letter = letters[TLS_MODES.indexOf(mode)]
    assert.ok(letter === 'P' || letter === 'T' || letter === 'X')
    return OUTCOMES[letter]
  }
}

/** To be called in a `describe`: makes the certificate before its tests. */
export function useMisnamedCertificate(): () => Misnamed {
  const directory = new ServerDirectory()
  after(() => directory.remove())
  let made: Misnamed | undefined
  return () => {
    made ??= makeMisnamed(directory)
    return made
  }
}

function makeMisnamed(directory: ServerDirectory): Misnamed {
  const { caFile } = makeCertificates(directory)
  const [certFile, keyFile, request] = ['other.crt', 'other.key', 'other.csr'].map((name) =>
    directory.join(name),
  )
  assert.ok(certFile && keyFile && request)
  writeFileSync(directory.join('other.ext'), 'subjectAltName=DNS:db.example\n')
  for (const args of [
    [
      'req',
      '-new',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      keyFile,
      '-subj',
      '/CN=db.example',
      '-out',
      request,
    ],
    [
      ...[
        'x509',
        '-req',
        '-days',
        '2',
        '-in',
        request,
        '-out',
        certFile,
        '-extfile',
        directory.join('other.ext'),
      ],
      ...['-CA', caFile, '-CAkey', directory.join('ca.key'), '-CAcreateserial'],
    ],
  ]) {
    const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8', timeout: 20_000 })
    assert.equal(status, 0, stderr)
  }
  directory.give('other.crt', 'other.key')
  return { caFile, certFile, keyFile }
}

/** To be called in a `describe`: starts the servers before its tests, and removes them afterwards. */
export function useServers<Name extends string>(
  start: () => Record<Name, Promise<DatabaseServer>>,
): (name: Name) => DatabaseServer {
  const servers = new Map<string, DatabaseServer>()
  before(async () => {
    await Promise.all(
      Object.entries<Promise<DatabaseServer>>(start()).map(async ([name, server]) => {
        servers.set(name, await server)
      }),
    )
  })
  after(async () => {
    await Promise.all(Array.from(servers.values(), (server) => server.remove()))
  })
  return (name) => {
    const server = servers.get(name)
    assert.ok(server)
    return server
  }
}

/**
 * Tests what becomes of a connection in every mode.
 * @param isEncrypted connects, and asks the server.
 */
export function tlsModes(
  attempts: Record<string, Attempt>,
  isEncrypted: (url: string) => Promise<boolean>,
  modes: readonly TlsMode[] = TLS_MODES,
): void {
  for (const [server, { url, authority, outcomes, refusal }] of Object.entries(attempts)) {
    describe(server, () => {
      for (const mode of modes) {
        it(`is ${outcomes(mode)} with ${mode}`, async () => {
          const target = dbUrl(url(), mode, authority())
          if (outcomes(mode) === 'refused') await assert.rejects(isEncrypted(target), { message: refusal })
          else assert.equal(await isEncrypted(target), outcomes(mode) === 'encrypted')
        })
      }
    })
  }
}

/** The URL of a database by the name of the host, as certificates have it. */
function dbUrl(text: string, mode: TlsMode, authority: string | undefined): string {
  const url = new URL(text)
  url.hostname = 'localhost'
  return withTls(url.href, mode, authority)
}
