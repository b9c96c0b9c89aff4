import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { TLS_MODES } from '../../../src/store/client-server/tls.ts'
import { PostgresDriver } from '../../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { engineMissing } from '../../support/engines.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { memoryDirectory } from '../../support/server-directory.ts'
import { outcomes, tlsModes, useMisnamedCertificate, useServers } from '../client-server/tls-modes.ts'

/** The role only_tls may use TLS alone, and only_plain anything but TLS. */
const HBA = `
local     all all            scram-sha-256
hostssl   all only_tls   all scram-sha-256
host      all only_tls   all reject
hostnossl all only_plain all scram-sha-256
host      all only_plain all reject
host      all rejected   all reject
host      all all        all scram-sha-256`

/** The role of the name that the certificate of the other server has needs that certificate. */
const CLIENT_HBA = `
hostssl all "db.example" all cert
host    all all          all scram-sha-256`

async function isEncrypted(url: string): Promise<boolean> {
  const driver = new PostgresDriver(parsePostgresUrl(url))
  const client = await driver.connect()
  const { rows } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
  await driver.end(client)
  return rows[0].ssl
}

describe('TLS to PostgreSQL, as with libpq', { skip: engineMissing('postgres') }, () => {
  const misnamed = useMisnamedCertificate()
  const server = useServers(() => {
    const { caFile, certFile, keyFile } = misnamed()
    const settings = { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile, ssl_ca_file: caFile }
    const directory = memoryDirectory()
    const options = { ...(directory && { directory }) }
    return {
      signed: startPostgres({ ...options, tls: true, hba: HBA }),
      misnamed: startPostgres({ ...options, settings, hba: CLIENT_HBA }),
      plain: startPostgres(options),
    }
  })
  before(async () => {
    for (const role of ['only_tls', 'only_plain']) {
      await server('signed').query(`CREATE ROLE ${role} LOGIN PASSWORD 'p'`)
    }
  })

  const as = (role: string) => () => {
    const url = new URL(server('signed').url)
    url.username = role
    url.password = 'p'
    return url.href
  }
  const admin = (name: 'signed' | 'misnamed' | 'plain') => () => server(name).url
  const own = () => server('signed').caFile
  const none = () => undefined

  tlsModes(
    {
      'a server with a certificate of the authority that is named': {
        url: admin('signed'),
        authority: own,
        outcomes: outcomes('PPTTTT'),
        refusal: /never/,
      },
      'a server with a certificate of an authority that is not named': {
        url: admin('signed'),
        authority: none,
        outcomes: outcomes('PPTTXX'),
        refusal: /certificate/,
      },
      'a server with a certificate of another authority': {
        url: admin('signed'),
        authority: () => misnamed().caFile,
        outcomes: outcomes('PPTXXX'),
        refusal: /certificate/,
      },
      'a server with a certificate for another name': {
        url: admin('misnamed'),
        authority: () => misnamed().caFile,
        outcomes: outcomes('PPTTTX'),
        refusal: /Hostname\/IP does not match certificate/,
      },
      'a server without TLS': {
        url: admin('plain'),
        authority: none,
        outcomes: outcomes('PPPXXX'),
        refusal: /does not support SSL/,
      },
      'a server without TLS, with an authority named': {
        url: admin('plain'),
        authority: () => misnamed().caFile,
        outcomes: outcomes('PPPXXX'),
        refusal: /does not support SSL/,
      },
      'a server that takes TLS alone': {
        url: as('only_tls'),
        authority: own,
        outcomes: outcomes('XTTTTT'),
        refusal: /pg_hba/,
      },
      'a server that takes anything but TLS': {
        url: as('only_plain'),
        authority: own,
        outcomes: outcomes('PPPXXX'),
        refusal: /pg_hba/,
      },
    },
    isEncrypted,
  )

  it('shows the certificate of the client', async () => {
    await server('misnamed').query('CREATE ROLE "db.example" LOGIN')
    const url = new URL(server('misnamed').url)
    url.username = 'db.example'
    url.password = ''
    url.searchParams.set('sslmode', 'require')
    await assert.rejects(isEncrypted(url.href), /requires a valid client certificate/)
    url.searchParams.set('sslcert', misnamed().certFile)
    url.searchParams.set('sslkey', misnamed().keyFile)
    assert.equal(await isEncrypted(url.href), true)
  })

  it('is not used on a Unix socket, whatever the mode is, as with libpq', async () => {
    const url = new URL(server('signed').url)
    url.searchParams.set('host', server('signed').socket)
    for (const mode of TLS_MODES) {
      url.searchParams.set('sslmode', mode)
      assert.equal(await isEncrypted(url.href), false)
    }
  })

  it('is what the fault tells of that was tried first', async () => {
    await assert.rejects(isEncrypted(`${as('rejected')()}?sslmode=prefer`), /pg_hba.conf.*SSL encryption/)
    await assert.rejects(isEncrypted(`${as('rejected')()}?sslmode=disable`), /pg_hba.conf.*no encryption/)
  })
})
