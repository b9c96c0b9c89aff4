import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { StoreNotOpened } from '../../../src/catalogue/store.ts'
import { TLS_MODES, type TlsSettings, tlsOptions } from '../../../src/store/client-server/tls.ts'
import { MysqlDriver } from '../../../src/store/mysql/driver.ts'
import { parseMysqlUrl } from '../../../src/store/mysql/url.ts'
import { PostgresDriver } from '../../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { type Certificates, makeCertificates } from '../../support/certificates.ts'
import { ServerDirectory } from '../../support/server-directory.ts'

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

  it('are read', () => {
    const given = { authority: files.caFile, certificate: files.certFile, key: files.keyFile }
    const { ca, cert, key } = tlsOptions(settings(given))
    for (const text of [ca, cert]) assert.match(String(text), /BEGIN CERTIFICATE/)
    assert.match(String(key), /PRIVATE KEY/)
  })

  it('are missed when they are not there, and told', () => {
    const missing = join(directory.path, 'missing.pem')
    for (const given of [{ authority: missing }, { certificate: missing, key: missing }]) {
      for (const mode of TLS_MODES.filter((mode) => mode !== 'disable')) {
        refuses({ mode, ...given }, /cannot be read: ENOENT.*missing\.pem/)
      }
    }
  })

  it('are refused when they hold something else, before any connection', () => {
    const other = join(directory.path, 'other.pem')
    for (const text of [
      '',
      'something else',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    ]) {
      writeFileSync(other, text)
      refuses({ authority: other }, /other\.pem cannot be used for TLS/)
      refuses({ certificate: other, key: files.keyFile }, /other\.pem and .* cannot be used for TLS/)
      refuses({ certificate: files.certFile, key: other }, /other\.pem cannot be used for TLS/)
    }
    refuses(
      { certificate: files.caFile, key: files.keyFile },
      /ca\.crt and .*server\.key cannot be used for TLS/,
    )
  })

  it('are not needed without TLS', () => {
    assert.deepEqual(tlsOptions(settings({ mode: 'disable', authority: '/missing', key: '/missing' })), {})
  })

  it('are read when a store is opened, so that it is told then', () => {
    const postgres = parsePostgresUrl('postgres://h/d?sslmode=verify-full&sslrootcert=/missing/ca.pem', {})
    assert.throws(() => new PostgresDriver(postgres), StoreNotOpened)
    const mysql = parseMysqlUrl('mysql://h/d?ssl-mode=VERIFY_IDENTITY&ssl-ca=/missing/ca.pem')
    assert.throws(() => new MysqlDriver(mysql), StoreNotOpened)
  })

  for (const [given, signer, name] of [
    [{ mode: 'allow' }, false, false],
    [{ mode: 'prefer' }, false, false],
    [{ mode: 'prefer', authority: 'own' }, false, false],
    [{ mode: 'require' }, false, false],
    [{ mode: 'require', authority: 'own' }, true, false],
    [{ mode: 'require', authority: 'system' }, true, true],
    [{ mode: 'verify-ca', authority: 'own' }, true, false],
    // Anybody may have a certificate of the authorities that all trust.
    [{ mode: 'verify-ca' }, true, true],
    [{ mode: 'verify-ca', authority: 'system' }, true, true],
    [{ mode: 'verify-full', authority: 'own' }, true, true],
    [{ mode: 'verify-full' }, true, true],
    [{ mode: 'verify-full', authority: 'system' }, true, true],
  ] as const) {
    it(`${JSON.stringify(given)} ${signer ? 'checks' : 'does not check'} the signer, and ${name ? 'checks' : 'not'} the name`, () => {
      const own = 'authority' in given && given.authority === 'own'
      const options = tlsOptions(settings({ ...given, ...(own && { authority: files.caFile }) }))
      assert.equal(options.rejectUnauthorized, signer)
      assert.equal(options.ca !== undefined, own)
      if (signer) assert.equal(options.checkServerIdentity === undefined, name)
    })
  }
})
