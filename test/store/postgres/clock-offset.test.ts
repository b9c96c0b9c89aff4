import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { PostgresDriver, serverTime } from '../../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { pgbouncerMissing, startPgbouncer } from '../../support/pgbouncer.ts'

/** How long what the client says takes to the server, or the other way; in milliseconds. */
const DELAY = 200

/** What a busy machine may add, in milliseconds. */
const TOLERANCE = 30_000

async function offset(url: string): Promise<number> {
  const driver = new PostgresDriver(parsePostgresUrl(url, {}))
  const client = await driver.connect()
  await driver.end(client)
  return serverTime(client, 0) * 1000
}

describe('the offset of the clock of PostgreSQL, which has the clock of this machine', {
  skip: engineMissing('postgres'),
}, () => {
  const databases = useDatabases('postgres')
  const assertSafe = (value: number) =>
    assert.ok(value <= 0 && value > -TOLERANCE, `the offset is ${value} ms`)

  it('is never too large through PgBouncer', { skip: pgbouncerMissing }, async () => {
    const pooler = await startPgbouncer(await databases())
    try {
      assertSafe(await offset(await pooler.createDatabase()))
    } finally {
      await pooler.remove()
    }
  })

  for (const direction of ['to', 'from'] as const) {
    it(`is never too large when the way ${direction} the server is slow`, async () => {
      const { host, port, url } = await databases()
      const proxy = createServer((client) => {
        const server = connect({ host, port })
        for (const socket of [client, server]) socket.on('error', () => {})
        const slow = direction === 'to' ? client : server
        for (const [from, to] of [
          [client, server],
          [server, client],
        ] as const)
          from.on('data', async (data) => {
            if (from === slow) await setTimeout(DELAY)
            to.write(data)
          })
        client.on('close', () => server.destroy())
      })
      await once(proxy.listen(0, '127.0.0.1'), 'listening')
      after(() => proxy.close())
      const through = new URL(url)
      through.port = String((proxy.address() as AddressInfo).port)
      assertSafe(await offset(`${through.href}?sslmode=disable`))
    })
  }
})
