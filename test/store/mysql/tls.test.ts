import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { RowDataPacket } from 'mysql2/promise'
import { TLS_MODES } from '../../../src/store/client-server/tls.ts'
import { MysqlDriver } from '../../../src/store/mysql/driver.ts'
import { parseMysqlUrl } from '../../../src/store/mysql/url.ts'
import { withTls } from '../../support/database-url.ts'
import { engineMissing } from '../../support/engines.ts'
import { startMariadb } from '../../support/mariadb-server.ts'
import { memoryDirectory } from '../../support/server-directory.ts'
import { outcomes, tlsModes, useMisnamedCertificate, useServers } from '../client-server/tls-modes.ts'

async function isEncrypted(url: string): Promise<boolean> {
  const driver = new MysqlDriver(parseMysqlUrl(url))
  const connection = await driver.connect()
  const [rows] = await connection.query<RowDataPacket[]>("SHOW STATUS LIKE 'Ssl_cipher'")
  await driver.end(connection)
  return rows[0]?.Value !== ''
}

/** The clients of MySQL have no `allow`. */
const MODES = TLS_MODES.filter((mode) => mode !== 'allow')

describe('TLS to MariaDB, as with its own client and ssl-mode', { skip: engineMissing('mysql') }, () => {
  const misnamed = useMisnamedCertificate()
  const server = useServers(() => {
    const { caFile, certFile, keyFile } = misnamed()
    const settings = { 'ssl-ca': caFile, 'ssl-cert': certFile, 'ssl-key': keyFile }
    const directory = memoryDirectory()
    const options = { ...(directory && { directory }) }
    return {
      signed: startMariadb({ ...options, tls: true }),
      misnamed: startMariadb({ ...options, settings }),
      // Newer ones make a certificate of their own.
      plain: startMariadb({ ...options, settings: { 'loose-ssl': '0' } }),
    }
  })
  before(async () => {
    await server('signed').query("CREATE USER only_tls@'%' IDENTIFIED BY 'p' REQUIRE SSL")
    await server('signed').query("GRANT SELECT ON *.* TO only_tls@'%'")
  })

  const onlyTls = () => {
    const url = new URL(server('signed').url)
    url.username = 'only_tls'
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
        outcomes: outcomes('PTTTTT'),
        refusal: /never/,
      },
      'a server with a certificate of an authority that is not named': {
        url: admin('signed'),
        authority: none,
        outcomes: outcomes('PTTTXX'),
        refusal: /certificate/,
      },
      'a server with a certificate of another authority': {
        url: admin('signed'),
        authority: () => misnamed().caFile,
        outcomes: outcomes('PTTXXX'),
        refusal: /certificate/,
      },
      'a server with a certificate for another name': {
        url: admin('misnamed'),
        authority: () => misnamed().caFile,
        outcomes: outcomes('PTTTTX'),
        refusal: /Hostname\/IP does not match certificate/,
      },
      'a server without TLS': {
        url: admin('plain'),
        authority: none,
        outcomes: outcomes('PPPXXX'),
        refusal: /does not support secure connection/,
      },
      'a server without TLS, with an authority named': {
        url: admin('plain'),
        authority: () => misnamed().caFile,
        outcomes: outcomes('PPPXXX'),
        refusal: /does not support secure connection/,
      },
      'a server that takes TLS alone': {
        url: onlyTls,
        authority: own,
        outcomes: outcomes('XTTTTT'),
        refusal: /Access denied/,
      },
    },
    isEncrypted,
    MODES,
  )

  it('shows the certificate of the client', async () => {
    await server('misnamed').query(
      "CREATE USER client@'%' IDENTIFIED BY 'p' REQUIRE SUBJECT '/CN=db.example'",
    )
    await server('misnamed').query("GRANT SELECT ON *.* TO client@'%'")
    const url = new URL(server('misnamed').url)
    url.username = 'client'
    url.password = 'p'
    url.searchParams.set('ssl-ca', misnamed().caFile)
    await assert.rejects(isEncrypted(url.href), /Access denied/)
    url.searchParams.set('ssl-cert', misnamed().certFile)
    url.searchParams.set('ssl-key', misnamed().keyFile)
    assert.equal(await isEncrypted(url.href), true)
  })

  it('is not used on a Unix socket, whatever the mode is', async () => {
    const url = new URL(server('signed').url)
    url.searchParams.set('socket', server('signed').socket)
    for (const mode of MODES) assert.equal(await isEncrypted(withTls(url.href, mode)), false)
  })
})
