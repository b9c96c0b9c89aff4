import assert from 'node:assert/strict'
import { copyFileSync, writeFileSync } from 'node:fs'
import { it } from 'node:test'
import { makeCertificates } from '../support/certificates.ts'
import { withTls } from '../support/database-url.ts'
import { memoryDirectory, ServerDirectory } from '../support/server-directory.ts'
import { Caller, SOON } from './caller.ts'
import {
  killConnections,
  SERVER_ENGINES,
  serve,
  serverMissing,
  startServer,
  until,
  untilUnused,
} from './engine-servers.ts'

const PASSWORDS = ['another-password', 'a-third-password'] as const

const withPassword = (url: string, password: string) => Object.assign(new URL(url), { password }).href

for (const engine of SERVER_ENGINES)
  it(`what changes on ${engine}: 503, not ready, and a line why, until a file of the service has followed`, {
    skip: serverMissing(engine),
  }, async (t) => {
    const isPostgres = engine === 'postgres'
    const directory = new ServerDirectory()
    t.after(() => directory.remove())
    const { caFile, certFile, keyFile } = makeCertificates(directory)
    const server = await startServer(engine, {
      directory: memoryDirectory(),
      settings: isPostgres
        ? { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile }
        : { 'ssl-ca': caFile, 'ssl-cert': certFile, 'ssl-key': keyFile },
    })
    t.after(() => server.remove())
    const database = await server.createDatabase()
    const [urlFile, passwordFile, authority] = ['url', 'passwords', 'authority'].map((name) =>
      directory.join(name),
    ) as [string, string, string]
    const url = withTls(database, 'verify-ca', authority)
    const { username, password } = new URL(url)
    const setPassword = (to: string) =>
      server.query(
        isPostgres
          ? `ALTER ROLE ${username} PASSWORD '${to}'`
          : `ALTER USER '${username}'@'%' IDENTIFIED BY '${to}'`,
      )
    copyFileSync(caFile, authority)
    writeFileSync(urlFile, url)
    const settings = { DB_URL: undefined, DB_URL_FILE: urlFile, PGPASSFILE: passwordFile }
    const service = await serve(t, '', { STORE_TIMEOUT: SOON, ...settings })
    const caller = new Caller(service)
    const id = await caller.create()
    await caller.untilIndexed()

    async function survive(change: () => unknown, cause: RegExp, follow: () => unknown): Promise<void> {
      const before = service.output().length
      await change()
      // One may have been opened after the others were listed, such as by the index.
      await until('the connections have ended', async () => (await killConnections(server, url)) === 0)
      await Promise.all([caller.unavailable(`GET /book/${id}`), caller.unavailable('GET /readyz')])
      await until('the log says why', () => cause.test(service.output().slice(before)))
      await follow()
      await caller.recovers('GET /readyz')
      await caller.ok(`PUT /book/${id}`, { year: 2 })
    }
    const [second, third] = PASSWORDS
    const refused = /password|access denied/i
    const follow = () => writeFileSync(urlFile, withPassword(url, second))
    await survive(() => setPassword(second), refused, follow)
    await survive(
      () => {
        makeCertificates(directory)
        return server.query(isPostgres ? 'SELECT pg_reload_conf()' : 'FLUSH SSL')
      },
      /certificate/,
      () => copyFileSync(caFile, authority),
    )
    if (isPostgres)
      await survive(
        () => setPassword(third),
        refused,
        () => {
          writeFileSync(passwordFile, `*:*:*:${username}:${third}\n`, { mode: 0o600 })
          writeFileSync(urlFile, withPassword(url, ''))
        },
      )

    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    await untilUnused(server, url)
    for (const secret of [password, ...PASSWORDS]) assert.ok(!service.output().includes(secret))
  })
