import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { PostgresDriver } from '../../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { engineMissing } from '../../support/engines.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { memoryDirectory } from '../../support/server-directory.ts'
import { useMisnamedCertificate, useServers } from '../client-server/tls-modes.ts'
import { type Attacker, PROTOCOL, relayTo, response, startAttacker } from './attacker.ts'

const SECRET = 'hunter2'

const HBA = `
host all by_trust    all trust
host all by_password all password
host all by_md5      all md5
host all all         all scram-sha-256`

/** Connects and asks something, so that it is known to work. */
async function use(url: string): Promise<void> {
  const driver = new PostgresDriver(parsePostgresUrl(url))
  const client = await driver.connect()
  const { rows } = await client.query('SELECT 1 AS one')
  assert.equal(rows[0].one, 1)
  await driver.end(client)
}

describe('channel_binding with PostgreSQL', { skip: engineMissing('postgres') }, () => {
  const other = useMisnamedCertificate()
  const server = useServers(() => {
    const directory = memoryDirectory()
    const options = { ...(directory && { directory }) }
    const { certFile, keyFile } = other()
    const rsa = { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile }
    return {
      ecdsa: startPostgres({ ...options, tls: true, hba: HBA }),
      rsa: startPostgres({ ...options, settings: rsa }),
      plain: startPostgres(options),
    }
  })
  before(async () => {
    const md5 = createHash('md5').update(`${SECRET}by_md5`).digest('hex')
    for (const [role, password] of [
      ['by_scram', SECRET],
      ['by_trust', SECRET],
      ['by_password', SECRET],
      ['by_md5', `md5${md5}`],
    ]) {
      await server('ecdsa').query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`)
    }
  })

  const urlOf = (name: 'ecdsa' | 'rsa' | 'plain', query: string) => `${server(name).url}?${query}`
  const as = (role: string, query: string) => {
    const url = new URL(urlOf('ecdsa', query))
    url.username = role
    url.password = SECRET
    return url.href
  }

  for (const certificate of ['ecdsa', 'rsa'] as const) {
    for (const mode of ['prefer', 'require'] as const) {
      it(`require works with SCRAM and sslmode=${mode}, with a certificate of ${certificate}`, () =>
        use(urlOf(certificate, `channel_binding=require&sslmode=${mode}`)))
    }
  }

  it('require is refused without TLS', async () => {
    await assert.rejects(use(urlOf('plain', 'channel_binding=require')), /channel_binding=require/)
    await assert.rejects(
      use(urlOf('ecdsa', 'channel_binding=require&sslmode=disable')),
      /channel_binding=require/,
    )
  })

  for (const role of ['by_trust', 'by_password', 'by_md5']) {
    it(`require is refused, prefer and disable are not, when the server authenticates ${role}`, async () => {
      for (const mode of ['require', 'disable']) {
        await assert.rejects(
          use(as(role, `channel_binding=require&sslmode=${mode}`)),
          /channel_binding=require/,
        )
        await use(as(role, `channel_binding=prefer&sslmode=${mode}`))
        await use(as(role, `channel_binding=disable&sslmode=${mode}`))
      }
    })
  }

  it('prefer and disable work with SCRAM, with and without TLS', async () => {
    for (const binding of ['prefer', 'disable']) {
      for (const mode of ['require', 'disable']) {
        await use(as('by_scram', `channel_binding=${binding}&sslmode=${mode}`))
      }
    }
  })

  describe('against somebody in between', () => {
    let attacker: Attacker | undefined
    after(() => attacker?.close())

    const attack = async (
      query: string,
      attack: (client: Socket) => void,
      withTls = true,
    ): Promise<string> => {
      attacker?.close()
      attacker = await startAttacker(withTls ? other() : undefined, attack)
      const url = new URL(as('by_scram', query))
      url.port = String(attacker.port)
      return url.href
    }
    const sentNothing = async () => {
      const received = await attacker?.received()
      assert.match(received ?? '', /by_scram/)
      assert.doesNotMatch(received ?? '', new RegExp(SECRET))
    }

    it('fails as the server sees another certificate than the client, unless it is disabled', async () => {
      const relay = relayTo(server('ecdsa').port)
      for (const binding of ['require', 'prefer']) {
        const url = await attack(`sslmode=require&channel_binding=${binding}`, relay)
        await assert.rejects(use(url), /SCRAM channel binding check failed/)
      }
      await use(await attack('sslmode=require&channel_binding=disable', relay))
    })

    const { ready, emptyResult, passwordInClear, passwordAsMd5, scram, scramPlus, challenge, proof } =
      PROTOCOL
    for (const [what, messages] of Object.entries({
      'asks for the password': [passwordInClear],
      'asks for the password with MD5': [passwordAsMd5],
      'asks for nothing': [ready],
      'has no channel binding': [scram],
      'offers channel binding, and then asks for the password': [scramPlus, passwordInClear],
      'offers channel binding, and then asks for the password with MD5': [scramPlus, passwordAsMd5],
      'offers channel binding, and then asks for nothing': [scramPlus, ready],
      'offers channel binding, and then pretends to have proven itself': [
        scramPlus,
        Buffer.concat([proof, ready]),
      ],
    })) {
      it(`require gives away nothing to one that ${what}`, async () => {
        for (const [mode, withTls] of [
          ['require', true],
          ['prefer', false],
          ['allow', false],
        ] as const) {
          const url = await attack(`sslmode=${mode}&channel_binding=require`, response(...messages), withTls)
          await assert.rejects(use(url), /channel_binding=require|SASL/)
          await sentNothing()
        }
      })
    }

    it('would give away the password otherwise, which shows that these tests would see it', async () => {
      const url = await attack('sslmode=require', response(passwordInClear, ready, emptyResult, emptyResult))
      const driver = new PostgresDriver(parsePostgresUrl(url))
      driver.destroy(await driver.connect())
      assert.match((await attacker?.received()) ?? '', new RegExp(SECRET))
    })

    it('leaves no connection open that failed on this side', async () => {
      const url = new URL(await attack('sslmode=require', response(scram, challenge)))
      url.password = ''
      await assert.rejects(use(url.href), /password/)
      await sentNothing()
    })
  })
})
