import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { RowDataPacket } from 'mysql2/promise'
import { StoreNotOpened } from '../../../src/catalogue/store.ts'
import { TLS_MODES, type TlsSettings, tlsOptions } from '../../../src/store/client-server/tls.ts'
import { MysqlDriver } from '../../../src/store/mysql/driver.ts'
import { parseMysqlUrl } from '../../../src/store/mysql/url.ts'
import { PostgresDriver } from '../../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { type Certificates, makeCertificates } from '../../support/certificates.ts'
import { withTls } from '../../support/database-url.ts'
import { engineMissing } from '../../support/engines.ts'
import { startMariadb } from '../../support/mariadb-server.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { memoryDirectory, ServerDirectory } from '../../support/server-directory.ts'
import { useMisnamedCertificate, useServers } from './misnamed-certificate.ts'

describe('the files for TLS', () => {
  const directory = new ServerDirectory()
  let files: Certificates
  before(() => {
    files = makeCertificates(directory)
  })
  after(() => directory.remove())

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
    const other = join(directory.path, 'other.pem')
    const refusesAll = (message: RegExp) => {
      refuses({ mode: 'allow', authority: other }, message)
      refuses({ certificate: other, key: files.keyFile }, message)
      refuses({ certificate: files.certFile, key: other }, message)
    }
    refusesAll(/cannot be read: ENOENT.*other\.pem/)
    for (const text of ['', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n']) {
      writeFileSync(other, text)
      refusesAll(/other\.pem .*cannot be used for TLS/)
    }
    const { caFile, keyFile } = files
    refuses({ certificate: caFile, key: keyFile }, /ca\.crt and .*server\.key cannot be used for TLS/)
    const postgres = parsePostgresUrl('postgres://h/d?sslmode=verify-full&sslrootcert=/missing/ca.pem', {})
    assert.throws(() => new PostgresDriver(postgres), StoreNotOpened)
    const mysql = parseMysqlUrl('mysql://h/d?ssl-mode=VERIFY_IDENTITY&ssl-ca=/missing/ca.pem')
    assert.throws(() => new MysqlDriver(mysql), StoreNotOpened)
  })

  // With the authorities that all trust. With one of its own, servers show it below.
  for (const [mode, authority, checked] of [
    ['require', undefined, false],
    ['require', 'system', true],
    // Anybody may have a certificate of these.
    ['verify-ca', undefined, true],
    ['verify-ca', 'system', true],
    ['verify-full', 'system', true],
  ] as const)
    it(`${mode}, authority ${authority}: ${checked ? 'checks' : 'does not check'} the signer and the name`, () => {
      const options = tlsOptions(settings({ mode, authority }))
      assert.deepEqual([options.rejectUnauthorized, options.ca], [checked, undefined])
      if (checked) assert.equal(options.checkServerIdentity, undefined)
    })
})

/**
 * The outcomes of the modes, in the order of TLS_MODES: P for plain, T for TLS, X for refused, and why.
 * @param user for whom the server takes TLS alone, or anything else.
 */
type Attempts = readonly (readonly [
  server: 'signed' | 'misnamed' | 'plain',
  authority: 'own' | 'other' | 'none',
  user: string,
  postgres: string,
  mysql: string,
  refusal: RegExp,
])[]

const NOT_SUPPORTED = /does not support (SSL|secure connection)/
const DENIED = /pg_hba|Access denied/

const ATTEMPTS: Attempts = [
  ['signed', 'own', '', 'PPTTTT', 'P TTTT', /never/],
  ['signed', 'none', '', 'PPTTXX', 'P TTXX', /certificate/],
  ['signed', 'other', '', 'PPTXXX', 'P TXXX', /certificate/],
  ['misnamed', 'other', '', 'PPTTTX', 'P TTTX', /Hostname\/IP does not match certificate/],
  ['plain', 'none', '', 'PPPXXX', 'P PXXX', NOT_SUPPORTED],
  ['plain', 'other', '', 'PPPXXX', 'P PXXX', NOT_SUPPORTED],
  ['signed', 'own', 'only_tls', 'XTTTTT', 'X TTTT', DENIED],
  ['signed', 'own', 'only_plain', 'PPPXXX', '', DENIED],
]

/** The URL for another user. */
function as(url: string, user: string, password = 'p'): string {
  const other = new URL(url)
  if (user !== '') Object.assign(other, { username: user, password })
  // Certificates have the name of the host.
  other.hostname = 'localhost'
  return other.href
}

function testModes(
  engine: 'postgres' | 'mysql',
  server: ReturnType<typeof useServers<'signed' | 'misnamed' | 'plain'>>,
  other: () => { readonly caFile: string },
  isEncrypted: (url: string) => Promise<boolean>,
): void {
  for (const [name, authority, user, ofPostgres, ofMysql, refusal] of ATTEMPTS)
    for (const [i, mode] of TLS_MODES.entries()) {
      const outcome = (engine === 'postgres' ? ofPostgres : ofMysql)[i]?.trim()
      // The clients of MySQL have no `allow`.
      if (!outcome) continue
      it(`of the server "${name}", authority ${authority}, user "${user}", with ${mode}: ${outcome}`, async () => {
        const files = { own: server('signed').caFile, other: other().caFile, none: undefined }
        const url = withTls(as(server(name).url, user), mode, files[authority])
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
}

const directory = memoryDirectory()
const options = { ...(directory && { directory }) }

describe('TLS to PostgreSQL, as with libpq', { skip: engineMissing('postgres') }, () => {
  const misnamed = useMisnamedCertificate()
  const server = useServers(() => {
    const { caFile, certFile, keyFile } = misnamed()
    const settings = { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile, ssl_ca_file: caFile }
    const hba = `
      local     all all            scram-sha-256
      hostssl   all only_tls   all scram-sha-256
      host      all only_tls   all reject
      hostnossl all only_plain all scram-sha-256
      host      all only_plain all reject
      host      all all        all scram-sha-256`
    const ofClients = `
      hostssl all "db.example" all cert
      host    all all          all scram-sha-256`
    return {
      signed: startPostgres({ ...options, tls: true, hba }),
      misnamed: startPostgres({ ...options, settings, hba: ofClients }),
      plain: startPostgres(options),
    }
  })
  before(async () => {
    for (const role of ['only_tls', 'only_plain'])
      await server('signed').query(`CREATE ROLE ${role} LOGIN PASSWORD 'p'`)
    await server('misnamed').query('CREATE ROLE "db.example" LOGIN')
  })

  async function isEncrypted(url: string): Promise<boolean> {
    const driver = new PostgresDriver(parsePostgresUrl(url))
    const client = await driver.connect()
    const { rows } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
    await driver.end(client)
    return rows[0].ssl
  }

  testModes('postgres', server, misnamed, isEncrypted)

  it('shows the certificate of the client', async () => {
    const url = `${as(server('misnamed').url, 'db.example', '')}?sslmode=require`
    await assert.rejects(isEncrypted(url), /requires a valid client certificate/)
    const { certFile, keyFile } = misnamed()
    assert.equal(await isEncrypted(`${url}&sslcert=${certFile}&sslkey=${keyFile}`), true)
  })
})

describe('TLS to MariaDB, as with its own client and ssl-mode', { skip: engineMissing('mysql') }, () => {
  const misnamed = useMisnamedCertificate()
  const server = useServers(() => {
    const { caFile, certFile, keyFile } = misnamed()
    const settings = { 'ssl-ca': caFile, 'ssl-cert': certFile, 'ssl-key': keyFile }
    return {
      signed: startMariadb({ ...options, tls: true }),
      misnamed: startMariadb({ ...options, settings }),
      // Newer ones make a certificate of their own.
      plain: startMariadb({ ...options, settings: { 'loose-ssl': '0' } }),
    }
  })
  before(async () => {
    for (const [name, user, needs] of [
      ['signed', 'only_tls', 'SSL'],
      ['misnamed', 'client', "SUBJECT '/CN=db.example'"],
    ] as const) {
      await server(name).query(`CREATE USER ${user}@'%' IDENTIFIED BY 'p' REQUIRE ${needs}`)
      await server(name).query(`GRANT SELECT ON *.* TO ${user}@'%'`)
    }
  })

  async function isEncrypted(url: string): Promise<boolean> {
    const driver = new MysqlDriver(parseMysqlUrl(url))
    const connection = await driver.connect()
    const [rows] = await connection.query<RowDataPacket[]>("SHOW STATUS LIKE 'Ssl_cipher'")
    await driver.end(connection)
    return rows[0]?.Value !== ''
  }

  testModes('mysql', server, misnamed, isEncrypted)

  it('shows the certificate of the client', async () => {
    const { caFile, certFile, keyFile } = misnamed()
    const url = `${as(server('misnamed').url, 'client')}?ssl-ca=${caFile}`
    await assert.rejects(isEncrypted(url), /Access denied/)
    assert.equal(await isEncrypted(`${url}&ssl-cert=${certFile}&ssl-key=${keyFile}`), true)
  })
})
