import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { connect as secure, TLSSocket } from 'node:tls'
import { PostgresDriver } from '../../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { type Certificates, makeCertificates } from '../../support/certificates.ts'
import type { DatabaseServer } from '../../support/database-server.ts'
import { engineMissing } from '../../support/engines.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { ServerDirectory } from '../../support/server-directory.ts'

/** A message of the server about authentication (postgresql.org/docs/current/protocol-message-formats.html). */
function authentication(code: number, data: Buffer | string = ''): Buffer {
  const message = Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, code]), Buffer.from(data)])
  message.writeInt32BE(message.length)
  return Buffer.concat([Buffer.from('R'), message])
}

/** With ReadyForQuery. */
const ACCEPTED = Buffer.concat([authentication(0), Buffer.from([0x5a, 0, 0, 0, 5, 0x49])])
const ASKS_FOR_PASSWORD = authentication(3)
const ASKS_FOR_MD5 = authentication(5, 'salt')
const SCRAM = authentication(10, 'SCRAM-SHA-256\0\0')
const SCRAM_PLUS = authentication(10, 'SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0')

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
  const directory = new ServerDirectory()
  let certificates: Certificates
  let server: DatabaseServer | undefined
  let attacker: Attacker | undefined
  before(async () => {
    certificates = makeCertificates(directory)
    server = await startPostgres({ tls: true })
  })
  after(async () => {
    attacker?.close()
    await server?.remove()
    directory.remove()
  })

  /** The URL of the server, with the port of somebody in between, who begins to listen. */
  async function attack(query: string, attack: (client: Socket) => void, withTls = true): Promise<string> {
    attacker?.close()
    attacker = await startAttacker(withTls ? certificates : undefined, attack)
    return Object.assign(new URL(`${server?.url}?${query}`), { port: attacker.port }).href
  }
  const assertNothingGiven = async () => {
    const received = (await attacker?.received()) ?? ''
    assert.match(received, /user\0postgres/)
    assert.ok(!received.includes(new URL(server?.url ?? '').password))
  }

  it('require works with SCRAM and TLS, and is refused without TLS', async () => {
    for (const mode of ['prefer', 'require'])
      await use(`${server?.url}?channel_binding=require&sslmode=${mode}`)
    await assert.rejects(
      use(`${server?.url}?channel_binding=require&sslmode=disable`),
      /channel_binding=require/,
    )
  })

  it('fails as the server sees another certificate than the client, unless it is disabled', async () => {
    const relay = relayTo(Number(new URL(server?.url ?? '').port))
    for (const binding of ['require', 'prefer']) {
      const url = await attack(`sslmode=require&channel_binding=${binding}`, relay)
      await assert.rejects(use(url), /SCRAM channel binding check failed/)
    }
    await use(await attack('sslmode=require&channel_binding=disable', relay))
  })

  for (const [what, messages] of [
    ['asks for the password', [ASKS_FOR_PASSWORD]],
    ['asks for nothing', [ACCEPTED]],
    ['has no channel binding', [SCRAM]],
    ['offers channel binding, and then asks for the password with MD5', [SCRAM_PLUS, ASKS_FOR_MD5]],
  ] as const)
    it(`require gives away nothing to somebody in between who ${what}`, async () => {
      const url = await attack('sslmode=require&channel_binding=require', response(...messages))
      await assert.rejects(use(url), /channel_binding=require/)
      await assertNothingGiven()
    })

  it('require gives away nothing to somebody in between who has no TLS', async () => {
    for (const mode of ['prefer', 'allow']) {
      const url = await attack(`sslmode=${mode}&channel_binding=require`, response(ASKS_FOR_PASSWORD), false)
      await assert.rejects(use(url), /channel_binding=require/)
      await assertNothingGiven()
    }
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
 * @param certificates its own, for TLS; without them it says that it has none.
 * @param attack what it does with a connection once it is encrypted, or would be.
 */
async function startAttacker(
  certificates: Certificates | undefined,
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
      } else if (certificates === undefined) {
        socket.end('N')
      } else {
        socket.write('S')
        const [cert, key] = [readFileSync(certificates.certFile), readFileSync(certificates.keyFile)]
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
