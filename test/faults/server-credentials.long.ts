import assert from 'node:assert/strict'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Certificates, makeCertificates } from '../support/certificates.ts'
import type { DatabaseServer, ServerEngine } from '../support/database-server.ts'
import { withTls } from '../support/database-url.ts'
import { memoryDirectory, ServerDirectory } from '../support/server-directory.ts'
import { temporaryDirectory } from '../support/service.ts'
import { Caller, failuresOnce, SOON } from './caller.ts'
import {
  connections,
  killConnection,
  readRows,
  SERVER_ENGINES,
  serve,
  serverMissing,
  startServer,
  until,
} from './engine-servers.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'

const CLIENTS = 8

/** Writes after a change that tell that all works. */
const ENOUGH = 100

const OTHER = 'another-password'

for (const engine of SERVER_ENGINES) {
  describe(`what changes while the service uses ${engine}`, { skip: serverMissing(engine) }, () => {
    let server: DatabaseServer
    let certificates: Certificates
    const certificatesDirectory = new ServerDirectory()
    const directory = temporaryDirectory()
    before(async () => {
      const memory = memoryDirectory()
      certificates = makeCertificates(certificatesDirectory)
      const settings = tlsSettings(engine, certificates)
      server = await startServer(engine, { settings, ...(memory && { directory: memory }) })
    })
    after(async () => {
      await server?.remove()
      certificatesDirectory.remove()
      directory.remove()
    })
    const pathOf = (name: string) => join(directory.path, name)

    /** Cuts all connections of a database, so that there are new ones. */
    const reconnect = async (url: string) => {
      for (const id of await connections(server, url)) await killConnection(server, id)
    }
    /** The same while nobody asks for anything, until the service knows it. */
    const cut = async (url: string) => {
      // One may have been opened after the others were listed, such as by the index.
      await until('the connections have ended', async () => {
        await reconnect(url)
        return (await connections(server, url)).length === 0
      })
      await setTimeout(100)
    }
    const changePassword = (url: string) => server.query(changeOf(engine, new URL(url).username))

    /** Checks that the service works after a change as before, and that nothing is lost. */
    async function survive(t: TestContext, url: string, settings: object, change: () => Promise<unknown>) {
      const service = await serve(t, '', { DB_URL: undefined, ...settings })
      const journal = new Journal()
      const load = new Load(service.url, journal, { clients: CLIENTS, leaveRefused: true })
      await load.begun()
      await change()
      const { acknowledged } = journal.figures
      await until('writes succeed', () => journal.figures.acknowledged > acknowledged + ENOUGH)
      await load.stop()
      assert.deepEqual(await service.stop(), { code: 0, signal: null })
      await until('no connection is left', async () => (await connections(server, url)).length === 0)
      journal.compare({ rows: await readRows(server, url), integrity: 'ok' })
      assert.deepEqual(journal.faults, [])
      for (const secret of [OTHER, new URL(url).password]) assert.ok(!service.output().includes(secret))
    }

    it('the password in the file of DB_URL_FILE', async (t) => {
      const url = await server.createDatabase()
      const DB_URL_FILE = pathOf('password')
      writeFileSync(DB_URL_FILE, `${url}\n`)
      await survive(t, url, { DB_URL_FILE }, async () => {
        await changePassword(url)
        writeFileSync(DB_URL_FILE, `${withPassword(url, OTHER)}\n`)
        await reconnect(url)
      })
    })

    it('the file of DB_URL_FILE, for a moment to something else: not ready, a line says so, and ready again', async (t) => {
      const url = await server.createDatabase()
      const DB_URL_FILE = pathOf('broken')
      writeFileSync(DB_URL_FILE, url)
      const service = await serve(t, '', { DB_URL: undefined, DB_URL_FILE })
      const caller = new Caller(service)
      await caller.create()
      // The index opens a connection of its own, which the server may not list before it is ready.
      await caller.untilIndexed()
      for (const [text, message] of [
        [url.slice(0, -2), 'names another engine or database than at the start'],
        ['books', 'has no scheme'],
        ['', 'is an empty file'],
      ] as const) {
        writeFileSync(DB_URL_FILE, text)
        await cut(url)
        await caller.unavailable('GET /readyz')
        await failuresOnce(service, 1, new RegExp(`DB_URL_FILE ${message}`))
        writeFileSync(DB_URL_FILE, url)
        await caller.recovers('GET /readyz')
      }
      assert.ok(!service.output().includes(new URL(url).password))
    })

    it('the password before the file says so: 503 and not 500, and all works again when it does', async (t) => {
      const url = await server.createDatabase()
      const DB_URL_FILE = pathOf('late')
      writeFileSync(DB_URL_FILE, url)
      const caller = new Caller(await serve(t, '', { DB_URL: undefined, DB_URL_FILE, STORE_TIMEOUT: SOON }))
      const id = await caller.create()
      await caller.untilIndexed()
      await changePassword(url)
      await cut(url)
      await caller.unavailable(`GET /book/${id}`)
      writeFileSync(DB_URL_FILE, withPassword(url, OTHER))
      await caller.recovers(`GET /book/${id}`)
    })

    if (engine === 'postgres')
      it('the password in PGPASSFILE', async (t) => {
        const url = await server.createDatabase()
        const { username, password } = new URL(url)
        const PGPASSFILE = pathOf('pgpass')
        writeFileSync(PGPASSFILE, `*:*:*:${username}:${password}\n`, { mode: 0o600 })
        await survive(t, url, { DB_URL: withPassword(url, ''), PGPASSFILE }, async () => {
          await changePassword(url)
          writeFileSync(PGPASSFILE, `*:*:*:${username}:${OTHER}\n`)
          await reconnect(url)
        })
      })

    it('the certificate of the server and its authority', async (t) => {
      const authority = pathOf('ca.crt')
      copyFileSync(certificates.caFile, authority)
      const url = withTls(await server.createDatabase(), 'verify-ca', authority)
      await survive(t, url, { DB_URL: url }, async () => {
        makeCertificates(certificatesDirectory)
        await server.query(engine === 'postgres' ? 'SELECT pg_reload_conf()' : 'FLUSH SSL')
        copyFileSync(certificates.caFile, authority)
        await reconnect(url)
      })
    })

    it('the file of the authority, for a moment to nothing: not ready, a line says so, and ready again', async (t) => {
      const authority = pathOf('gone.crt')
      copyFileSync(certificates.caFile, authority)
      const url = withTls(await server.createDatabase(), 'verify-ca', authority)
      const service = await serve(t, url, { STORE_TIMEOUT: SOON })
      const caller = new Caller(service)
      await caller.create()
      rmSync(authority)
      await cut(url)
      await caller.unavailable('GET /readyz')
      await failuresOnce(service, 1, /a file for TLS cannot be read/)
      await caller.unavailable('GET /book/1')
      copyFileSync(certificates.caFile, authority)
      await caller.recovers('GET /readyz')
    })
  })
}

const tlsSettings = (engine: ServerEngine, { caFile, certFile, keyFile }: Certificates) =>
  engine === 'postgres'
    ? { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile }
    : { 'ssl-ca': caFile, 'ssl-cert': certFile, 'ssl-key': keyFile }

const changeOf = (engine: ServerEngine, user: string) =>
  engine === 'postgres'
    ? `ALTER ROLE ${user} PASSWORD '${OTHER}'`
    : `ALTER USER '${user}'@'%' IDENTIFIED BY '${OTHER}'`

function withPassword(text: string, password: string): string {
  const url = new URL(text)
  url.password = password
  return url.href
}
