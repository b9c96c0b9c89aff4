import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { RowDataPacket } from 'mysql2/promise'
import type pg from 'pg'
import { StoreNotOpened } from '../../../src/catalogue/store.ts'
import { TLS_MODES, type TlsSettings, tlsOptions } from '../../../src/store/client-server/tls.ts'
import { MysqlDriver } from '../../../src/store/mysql/driver.ts'
import { parseMysqlUrl } from '../../../src/store/mysql/url.ts'
import { PostgresDriver } from '../../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { type Certificates, makeCertificates } from '../../support/certificates.ts'
import type { DatabaseServer } from '../../support/database-server.ts'
import { withTls } from '../../support/database-url.ts'
import { engineMissing } from '../../support/engines.ts'
import { startMariadb } from '../../support/mariadb-server.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { memoryDirectory, ServerDirectory } from '../../support/server-directory.ts'

/** Those of an authority that no server below knows. */
const directory = new ServerDirectory()
let other: Certificates
before(() => {
  other = makeCertificates(directory)
})
after(() => directory.remove())

describe('the files for TLS', () => {
  const settings = (given: Partial<TlsSettings>): TlsSettings => ({
    mode: 'require',
    authority: undefined,
    certificate: undefined,
    key: undefined,
    ...given,
  })
  const refuses = (given: Partial<TlsSettings>, message: RegExp) =>
    assert.throws(
      () => tlsOptions(settings(given)),
      (error) => error instanceof StoreNotOpened && message.test(error.message) && !/\n/.test(error.message),
    )

  it('are refused when they are missing or hold something else, before any connection', () => {
    const { caFile, certFile, keyFile } = other
    const file = directory.join('other.pem')
    const refusesAll = (message: RegExp) => {
      refuses({ mode: 'allow', authority: file }, message)
      refuses({ certificate: file, key: keyFile }, message)
      refuses({ certificate: certFile, key: file }, message)
    }
    refusesAll(/cannot be read: ENOENT.*other\.pem/)
    for (const text of ['', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n']) {
      writeFileSync(file, text)
      refusesAll(/other\.pem .*cannot be used for TLS/)
    }
    refuses({ certificate: caFile, key: keyFile }, /ca\.crt and .*server\.key cannot be used for TLS/)
    const target = parsePostgresUrl('postgres://h/d?sslmode=verify-full&sslrootcert=/missing/ca.pem', {})
    assert.throws(() => new PostgresDriver(target), StoreNotOpened)
  })

  it('of an authority that all trust do not make a certificate of any name good enough', () => {
    // With an authority of its own, servers show it below.
    for (const [mode, authority, checked] of [
      ['require', undefined, false],
      ['require', 'system', true],
      ['verify-ca', undefined, true],
      ['verify-ca', 'system', true],
      ['verify-full', 'system', true],
    ] as const) {
      const options = tlsOptions(settings({ mode, authority }))
      assert.deepEqual([options.rejectUnauthorized, options.ca], [checked, undefined])
      if (checked) assert.equal(options.checkServerIdentity, undefined)
    }
  })
})

/** A server with a certificate for localhost and 127.0.0.1, and one without TLS. */
type Servers = Record<'signed' | 'plain', DatabaseServer>

/**
 * The outcomes of the modes, in the order of TLS_MODES: P for plain, T for TLS, X for refused, and why.
 * @param user for whom the server takes TLS alone, or anything else.
 */
type Attempts = readonly (readonly [
  server: keyof Servers,
  host: string,
  authority: 'own' | 'other' | 'none',
  user: string,
  postgres: string,
  mysql: string,
  refusal: RegExp,
])[]

const NOT_SUPPORTED = /does not support (SSL|secure connection)/
const DENIED = /pg_hba|Access denied/

const ATTEMPTS: Attempts = [
  ['signed', 'localhost', 'own', '', 'PPTTTT', 'P TTTT', /never/],
  ['signed', 'localhost', 'none', '', 'PPTTXX', 'P TTXX', /certificate/],
  ['signed', 'localhost', 'other', '', 'PPTXXX', 'P TXXX', /certificate/],
  // Its certificate does not have this name of its address.
  ['signed', '127.1', 'own', '', 'PPTTTX', 'P TTTX', /Hostname\/IP does not match certificate/],
  ['plain', 'localhost', 'none', '', 'PPPXXX', 'P PXXX', NOT_SUPPORTED],
  ['signed', 'localhost', 'own', 'only_tls', 'XTTTTT', 'X TTTT', DENIED],
  ['signed', 'localhost', 'own', 'only_plain', 'PPPXXX', '', DENIED],
]

/** A user that has to show a certificate of its name: that of the server will do. */
const NAMED = 'localhost'

/** The URL for another user and another name of the host. */
function as(url: string, user: string, host = 'localhost'): string {
  const changed = new URL(url)
  if (user !== '') Object.assign(changed, { username: user, password: 'p' })
  changed.hostname = host
  return changed.href
}

/** @param isEncrypted connects, and asks the server. */
function testTls(
  engine: 'postgres' | 'mysql',
  start: () => readonly [signed: Promise<DatabaseServer>, plain: Promise<DatabaseServer>],
  prepare: (server: DatabaseServer) => Promise<unknown>,
  isEncrypted: (url: string) => Promise<boolean>,
): void {
  const servers: Partial<Servers> = {}
  const server = (name: keyof Servers) => servers[name] ?? assert.fail('it does not run')
  before(async () => {
    const [signed, plain] = await Promise.all(start())
    Object.assign(servers, { signed, plain })
    await prepare(signed)
  })
  after(() => Promise.all([servers.signed?.remove(), servers.plain?.remove()]))

  for (const [name, host, authority, user, ofPostgres, ofMysql, refusal] of ATTEMPTS)
    for (const [i, mode] of TLS_MODES.entries()) {
      const outcome = (engine === 'postgres' ? ofPostgres : ofMysql)[i]?.trim()
      // The clients of MySQL have no `allow`.
      if (!outcome) continue
      it(`of the server "${name}" at ${host}, authority ${authority}, user "${user}", with ${mode}: ${outcome}`, async () => {
        const files = { own: server('signed').caFile, other: other.caFile, none: undefined }
        const url = withTls(as(server(name).url, user, host), mode, files[authority])
        if (outcome === 'X') await assert.rejects(isEncrypted(url), { message: refusal })
        else assert.equal(await isEncrypted(url), outcome === 'T')
      })
    }

  it('is not used on a Unix socket, whatever the mode is', async () => {
    const url = new URL(server('signed').url)
    url.searchParams.set(engine === 'postgres' ? 'host' : 'socket', server('signed').socket)
    for (const mode of TLS_MODES)
      if (mode !== 'allow') assert.equal(await isEncrypted(withTls(url.href, mode)), false)
  })

  it('shows the certificate of the client', async () => {
    const { directory, url } = server('signed')
    const ofClient = withTls(as(url, NAMED), 'require')
    await assert.rejects(isEncrypted(ofClient), /requires a valid client certificate|Access denied/)
    const names = engine === 'postgres' ? ['sslcert', 'sslkey'] : ['ssl-cert', 'ssl-key']
    const files = `${names[0]}=${directory}/server.crt&${names[1]}=${directory}/server.key`
    assert.equal(await isEncrypted(`${ofClient}&${files}`), true)
  })
}

const memory = memoryDirectory()
const options = { ...(memory && { directory: memory }) }

describe('TLS to PostgreSQL, as with libpq', { skip: engineMissing('postgres') }, () => {
  const hba = `
    local     all all            scram-sha-256
    hostssl   all ${NAMED}       all cert
    hostssl   all only_tls       all scram-sha-256
    host      all only_tls       all reject
    hostnossl all only_plain     all scram-sha-256
    host      all only_plain     all reject
    host      all all            all scram-sha-256`
  // Beside the directory of the data.
  const settings = { ssl_ca_file: '../ca.crt' }
  testTls(
    'postgres',
    () => [startPostgres({ ...options, tls: true, hba, settings }), startPostgres(options)],
    async (server) => {
      for (const role of ['only_tls', 'only_plain', NAMED])
        await server.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p'`)
    },
    async (url) => {
      const driver = new PostgresDriver(parsePostgresUrl(url))
      const client = await driver.connect()
      const { rows } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
      await driver.end(client)
      return rows[0].ssl
    },
  )
})

describe('TLS to MariaDB, as with its own client and ssl-mode', { skip: engineMissing('mysql') }, () => {
  // Newer ones make a certificate of their own.
  const settings = { 'loose-ssl': '0' }
  testTls(
    'mysql',
    () => [startMariadb({ ...options, tls: true }), startMariadb({ ...options, settings })],
    async (server) => {
      for (const [user, needs] of [
        ['only_tls', 'SSL'],
        [NAMED, `SUBJECT '/CN=${NAMED}'`],
      ]) {
        await server.query(`CREATE USER '${user}'@'%' IDENTIFIED BY 'p' REQUIRE ${needs}`)
        await server.query(`GRANT SELECT ON *.* TO '${user}'@'%'`)
      }
    },
    async (url) => {
      const driver = new MysqlDriver(parseMysqlUrl(url))
      const connection = await driver.connect()
      const [rows] = await connection.query<RowDataPacket[]>("SHOW STATUS LIKE 'Ssl_cipher'")
      await driver.end(connection)
      return rows[0]?.Value !== ''
    },
  )
})

it('a statement on PostgreSQL is cancelled over TLS if its connection has TLS: its key would be readable', async (t) => {
  /** The first message of each connection: a cancellation, or the wish for TLS. */
  const codes: number[] = []
  const server = createServer(async (socket) => {
    const [message] = await once(socket, 'data')
    codes.push(message.readInt32BE(4))
    socket.destroy()
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const driver = new PostgresDriver(parsePostgresUrl('postgres://u:p@127.0.0.1/d', {}))
  const { port } = server.address() as AddressInfo
  for (const ssl of [false, {}]) {
    const client = { host: '127.0.0.1', port, processID: 1, secretKey: 2, ssl }
    await driver.cancel(client as unknown as pg.Client)
  }
  assert.deepEqual(codes, [80877102, 80877103])
})
