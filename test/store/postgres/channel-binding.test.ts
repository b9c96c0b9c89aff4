import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { connect as secure, TLSSocket } from 'node:tls'
import { PostgresDriver } from '../../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { engineMissing } from '../../support/engines.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { memoryDirectory } from '../../support/server-directory.ts'
import { useMisnamedCertificate, useServers } from '../client-server/misnamed-certificate.ts'

const SECRET = 'hunter2'

const HBA = `
host all by_trust    all trust
host all by_password all password
host all by_md5      all md5
host all all         all scram-sha-256`

/** A message of the server about authentication (postgresql.org/docs/current/protocol-message-formats.html). */
function authentication(code: number, data: Buffer | string = ''): Buffer {
  const message = Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, code]), Buffer.from(data)])
  message.writeInt32BE(message.length)
  return Buffer.concat([Buffer.from('R'), message])
}

const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** What a server sends while a client logs in, and for a query. */
const PROTOCOL = {
  ready: Buffer.concat([authentication(0), READY_FOR_QUERY]),
  emptyResult: Buffer.concat([Buffer.from([0x49, 0, 0, 0, 4]), READY_FOR_QUERY]),
  passwordInClear: authentication(3),
  passwordAsMd5: authentication(5, 'salt'),
  scram: authentication(10, 'SCRAM-SHA-256\0\0'),
  scramPlus: authentication(10, 'SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0'),
  proof: authentication(12, `v=${Buffer.alloc(32).toString('base64')}`),
}

/** What a client of PostgreSQL sends first, to ask for TLS. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

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
    for (const role of ['by_scram', 'by_trust', 'by_password', 'by_md5']) {
      const password = role === 'by_md5' ? `md5${md5}` : SECRET
      await server('ecdsa').query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`)
    }
  })

  const urlOf = (name: 'ecdsa' | 'rsa' | 'plain', query: string) => `${server(name).url}?${query}`
  const as = (role: string, query: string, port = server('ecdsa').port, password = SECRET) =>
    Object.assign(new URL(urlOf('ecdsa', query)), { username: role, password, port }).href

  it('require works with SCRAM and TLS, with certificates of both kinds, and is refused without TLS', async () => {
    for (const certificate of ['ecdsa', 'rsa'] as const)
      for (const mode of ['prefer', 'require'])
        await use(urlOf(certificate, `channel_binding=require&sslmode=${mode}`))
    for (const url of [
      urlOf('plain', 'channel_binding=require'),
      urlOf('ecdsa', 'channel_binding=require&sslmode=disable'),
    ])
      await assert.rejects(use(url), /channel_binding=require/)
  })

  for (const role of ['by_trust', 'by_password', 'by_md5'])
    it(`prefer and disable work when the server authenticates ${role}, and require does not`, async () => {
      for (const mode of ['require', 'disable']) {
        for (const binding of ['prefer', 'disable'])
          await use(as(role, `channel_binding=${binding}&sslmode=${mode}`))
        const url = as(role, `channel_binding=require&sslmode=${mode}`)
        await assert.rejects(use(url), /channel_binding=require/)
      }
    })

  describe('against somebody in between', () => {
    let attacker: Attacker | undefined
    after(() => attacker?.close())

    const attack = async (
      query: string,
      attack: (client: Socket) => void,
      withTls = true,
      password = SECRET,
    ) => {
      attacker?.close()
      attacker = await startAttacker(withTls ? other() : undefined, attack)
      return as('by_scram', query, attacker.port, password)
    }
    const sentNothing = async () => {
      const received = (await attacker?.received()) ?? ''
      assert.match(received, /by_scram/)
      assert.doesNotMatch(received, new RegExp(SECRET))
    }

    it('fails as the server sees another certificate than the client, unless it is disabled', async () => {
      const relay = relayTo(server('ecdsa').port)
      for (const binding of ['require', 'prefer']) {
        const url = await attack(`sslmode=require&channel_binding=${binding}`, relay)
        await assert.rejects(use(url), /SCRAM channel binding check failed/)
      }
      await use(await attack('sslmode=require&channel_binding=disable', relay))
    })

    const { ready, emptyResult, passwordInClear, passwordAsMd5, scram, scramPlus, proof } = PROTOCOL
    for (const [what, messages] of [
      ['asks for the password', [passwordInClear]],
      ['asks for nothing', [ready]],
      ['has no channel binding', [scram]],
      ['offers channel binding, and then asks for the password with MD5', [scramPlus, passwordAsMd5]],
      ['offers channel binding, and then pretends to be proven', [scramPlus, Buffer.concat([proof, ready])]],
    ] as const)
      it(`require gives away nothing to one that ${what}`, async () => {
        const url = await attack('sslmode=require&channel_binding=require', response(...messages))
        await assert.rejects(use(url), /channel_binding=require|SASL/)
        await sentNothing()
      })

    it('require gives away nothing to one that has no TLS', async () => {
      for (const mode of ['prefer', 'allow']) {
        const url = await attack(`sslmode=${mode}&channel_binding=require`, response(passwordInClear), false)
        await assert.rejects(use(url), /channel_binding=require/)
        await sentNothing()
      }
    })

    it('would give away the password otherwise, which shows that these tests would see it', async () => {
      const url = await attack('sslmode=require', response(passwordInClear, ready, emptyResult, emptyResult))
      const driver = new PostgresDriver(parsePostgresUrl(url))
      driver.destroy(await driver.connect())
      assert.match((await attacker?.received()) ?? '', new RegExp(SECRET))
    })
  })
})

/** Who is in between: a client takes it for the server. */
interface Attacker {
  readonly port: number
  /** All that clients sent until they ended their connections, as it is after decryption. */
  received(): Promise<string>
  close(): void
}

/**
 * Starts one on 127.0.0.1.
 * @param certificate its own, for TLS; without one it says that it has none.
 * @param attack what it does with a connection once it is encrypted, or would be.
 */
async function startAttacker(
  certificate: { readonly certFile: string; readonly keyFile: string } | undefined,
  attack: (client: Socket) => void,
): Promise<Attacker> {
  const received: Buffer[] = []
  const sockets: Socket[] = []
  const take = (client: Socket) => {
    client.on('error', () => {})
    client.on('data', (chunk: Buffer) => received.push(chunk))
    attack(client)
  }
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', (first: Buffer) => {
      if (!first.equals(SSL_REQUEST)) {
        take(socket)
        socket.emit('data', first)
      } else if (certificate === undefined) {
        socket.end('N')
      } else {
        socket.write('S')
        const [cert, key] = [readFileSync(certificate.certFile), readFileSync(certificate.keyFile)]
        take(new TLSSocket(socket, { isServer: true, cert, key }))
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async received() {
      await Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close')))
      return Buffer.concat(received).toString('latin1')
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Answers each message of the client with the next of these. */
function response(...messages: readonly Buffer[]): (client: Socket) => void {
  return (client) => {
    const rest = [...messages]
    client.on('data', () => client.write(rest.shift() ?? Buffer.alloc(0)))
  }
}

/** Passes everything on to a real server and back, encrypted on both sides. */
function relayTo(port: number): (client: Socket) => void {
  return (client) => {
    client.pause()
    const socket = connect(port, '127.0.0.1', () => socket.write(SSL_REQUEST))
    socket.once('data', () => {
      const server = secure({ socket, rejectUnauthorized: false })
      for (const each of [server, client]) each.on('error', () => server.destroy())
      client.pipe(server).pipe(client)
    })
  }
}
