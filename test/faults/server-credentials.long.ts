import assert from 'node:assert/strict'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Certificates, makeCertificates } from '../support/certificates.ts'
import type { DatabaseServer } from '../support/database-server.ts'
import { withTls } from '../support/database-url.ts'
import { memoryDirectory, ServerDirectory } from '../support/server-directory.ts'
import { temporaryDirectory } from '../support/service.ts'
import { Caller, failuresOnce, SOON } from './caller.ts'
import {
  killConnections,
  SERVER_ENGINES,
  serve,
  serverMissing,
  startServer,
  until,
  untilUnused,
} from './engine-servers.ts'

const OTHER = 'another-password'

/** A change after which the service cannot connect, until a file of its own has followed. */
interface Change {
  /** Settings of the service, whose file is at this path. */
  settings(url: string, file: string): Record<string, string | undefined>
  begin(url: string): unknown
  /** What the log says then. */
  readonly cause: RegExp
  end(url: string, file: string): unknown
}

for (const engine of SERVER_ENGINES)
  describe(`what changes while the service uses ${engine}`, { skip: serverMissing(engine) }, () => {
    let server: DatabaseServer
    let certificates: Certificates
    const certificatesDirectory = new ServerDirectory()
    const directory = temporaryDirectory()
    const isPostgres = engine === 'postgres'
    before(async () => {
      certificates = makeCertificates(certificatesDirectory)
      const { caFile, certFile, keyFile } = certificates
      const settings: Record<string, string> = isPostgres
        ? { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile }
        : { 'ssl-ca': caFile, 'ssl-cert': certFile, 'ssl-key': keyFile }
      server = await startServer(engine, { settings, directory: memoryDirectory() })
    })
    after(async () => {
      await server?.remove()
      certificatesDirectory.remove()
      directory.remove()
    })

    const CHANGES: Record<string, Change> = {
      'the password in the file of DB_URL_FILE': {
        settings(url, file) {
          writeFileSync(file, `${url}\n`)
          return { DB_URL: undefined, DB_URL_FILE: file }
        },
        begin(url) {
          const { username } = new URL(url)
          return server.query(
            isPostgres
              ? `ALTER ROLE ${username} PASSWORD '${OTHER}'`
              : `ALTER USER '${username}'@'%' IDENTIFIED BY '${OTHER}'`,
          )
        },
        cause: /password|access denied/i,
        end: (url, file) => writeFileSync(file, `${Object.assign(new URL(url), { password: OTHER }).href}\n`),
      },
      'the certificate of the server and its authority': {
        settings(url, file) {
          copyFileSync(certificates.caFile, file)
          return { DB_URL: withTls(url, 'verify-ca', file) }
        },
        begin() {
          makeCertificates(certificatesDirectory)
          return server.query(isPostgres ? 'SELECT pg_reload_conf()' : 'FLUSH SSL')
        },
        cause: /certificate/,
        end: (_, file) => copyFileSync(certificates.caFile, file),
      },
    }

    for (const [i, [name, change]] of Object.entries(CHANGES).entries())
      it(`${name}: 503, not ready, a line says why, and all works when the file has followed`, async (t) => {
        const url = await server.createDatabase()
        const file = join(directory.path, String(i))
        const service = await serve(t, '', { STORE_TIMEOUT: SOON, ...change.settings(url, file) })
        const caller = new Caller(service)
        const id = await caller.create()
        await caller.untilIndexed()
        await change.begin(url)
        // One may have been opened after the others were listed, such as by the index.
        await until('the connections have ended', async () => (await killConnections(server, url)) === 0)
        await Promise.all([caller.unavailable(`GET /book/${id}`), caller.unavailable('GET /readyz')])
        await failuresOnce(service, 1, change.cause)
        await change.end(url, file)
        await caller.recovers('GET /readyz')
        await caller.ok(`PUT /book/${id}`, { year: 2 })
        assert.deepEqual(await service.stop(), { code: 0, signal: null })
        await untilUnused(server, url)
        for (const secret of [OTHER, new URL(url).password]) assert.ok(!service.output().includes(secret))
      })
  })
