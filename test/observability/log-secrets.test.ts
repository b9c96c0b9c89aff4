import assert from 'node:assert/strict'
import { once } from 'node:events'
import { truncateSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { readConfig } from '../../src/config.ts'
import { openFile } from '../store/sqlite/file.ts'
import { logIn } from '../support/client.ts'
import { fill } from '../support/damage.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import {
  ACCOUNT,
  assertNoSecrets,
  SECRET,
  spawnService,
  startService,
  temporaryDirectory,
} from '../support/service.ts'
import { EXP, expiringAt, hmacToken } from '../support/tokens.ts'

/** Part of every secret of a client here that is none of the service's own. */
const MARK = 'hunter2'

const directory = temporaryDirectory()
after(directory.remove)

describe('what assertNoSecrets finds', () => {
  it('is the password, the secret, and tokens', () => {
    for (const secret of [ACCOUNT.password, SECRET, expiringAt(EXP)])
      assert.throws(() => assertNoSecrets(`{"msg":"${secret}"}`), /has written a secret/)
    assertNoSecrets('{"msg":"listening"}')
  })
})

describe('at LOG_LEVEL=trace no line has a secret', () => {
  it('of good and bad requests to every endpoint, malformed ones, and failures of the store', async () => {
    const path = join(directory.path, 'books.db')
    const store = await openFile(path)
    await fill(store)
    await store.close()
    const service = await startService(directory.path, {
      LOG_LEVEL: 'trace',
      LOGIN_FAILURE_LIMIT: '2',
      CORS_ORIGIN: '*',
      METRICS_PORT: '0',
    })
    const token = await logIn(service.url)
    const logins = [
      JSON.stringify(ACCOUNT),
      JSON.stringify({ ...ACCOUNT, password: MARK }),
      JSON.stringify({ username: MARK, password: ACCOUNT.password }),
      JSON.stringify({ ...ACCOUNT, password: [ACCOUNT.password] }),
      JSON.stringify(ACCOUNT).slice(0, -1),
      `${JSON.stringify(ACCOUNT)}${MARK}`,
    ]
    const tokens = [
      token,
      `Bearer ${token}`,
      `${token}x`,
      hmacToken({ exp: 1 }),
      hmacToken({ exp: EXP }, { secret: MARK }),
      `${MARK}.${MARK}.${MARK}`,
    ]
    const book = '{"title":"T","author":"A","year":1}'
    const calls = [
      ...logins.map((body) => ['POST', '/token', token, body] as const),
      ...tokens.flatMap((authorization) => [
        ['GET', `/books?token=${authorization}`, authorization] as const,
        ['GET', `/book/250?password=${MARK}`, authorization] as const,
        ['POST', '/book', authorization, book] as const,
        ['POST', '/book', authorization, `{"title":"${MARK}"`] as const,
        ['PUT', '/book/250', authorization, '{"year":"x"}'] as const,
        ['PUT', '/book/251', authorization, '{"year":2}'] as const,
        ['DELETE', `/book/252?${MARK}`, authorization] as const,
        ['PATCH', `/book/1?${MARK}`, authorization] as const,
        ['GET', `/nowhere?${MARK}#${MARK}`, authorization] as const,
        ['POST', '/book', authorization, `"${MARK.repeat(200_000)}"`] as const,
      ]),
      ['GET', '/readyz', token] as const,
      ['GET', '/openapi.json', token] as const,
    ]
    const statuses = new Set<number>()
    const callAll = async () => {
      for (const [method, target, authorization, body] of calls) {
        const headers = {
          authorization,
          origin: 'http://a.example',
          cookie: MARK,
          'x-request-id': `"${MARK}"`,
        }
        const response = await fetch(service.url + target, {
          method,
          headers,
          ...(body !== undefined && { body }),
        })
        await response.arrayBuffer().catch(() => undefined)
        statuses.add(response.status)
      }
    }
    await callAll()
    for (const bytes of [
      head(`${MARK} /`, `Authorization: ${token}`),
      head('GET /books', `Authorization: ${token}`, MARK),
      head('GET /books', `Authorization: ${token}${MARK.repeat(5000)}`),
      head(`CONNECT ${MARK}:443`, `Authorization: ${token}`),
      head(`GET http://user:${MARK}@test/`, `Authorization: ${token}`),
      `${head('POST /token', 'Transfer-Encoding: chunked')}zz${ACCOUNT.password}\r\n`,
    ]) {
      using connection = await RawConnection.open(service.url)
      await connection.send(bytes)
      statuses.add((await connection.response()).status)
    }
    truncateSync(path, 4096)
    await callAll()
    for (const status of [200, 201, 400, 401, 404, 405, 413, 429, 431, 500, 503])
      assert.ok(statuses.has(status), `no response was ${status}`)
    await service.stop()
    assertNoSecrets(service.output())
    assert.deepEqual(
      service
        .output()
        .split('\n')
        .filter((line) => line.includes(MARK)),
      [],
    )
    assert.ok(service.output().split('\n').length > 2 * calls.length, 'requests are logged')
  })
})

describe('a DB_URL that leads nowhere: its password is in no line', () => {
  /** A server that is no database: it takes connections and sends garbage, or closes them. */
  const servers: Server[] = []
  const ports: number[] = []
  before(async () => {
    for (const greeting of [`what? ${'\0'.repeat(100)}`, '']) {
      const server = createServer((socket) => socket.on('error', () => {}).end(greeting)).listen(
        0,
        '127.0.0.1',
      )
      await once(server, 'listening')
      servers.push(server)
      ports.push((server.address() as AddressInfo).port)
    }
  })
  after(() => {
    for (const server of servers) server.close()
  })

  for (const [scheme, nobody] of [
    ['postgres', '127.0.0.1:1'],
    ['mysql', 'no-such-host.invalid'],
  ])
    it(`${scheme}: of what is refused, or waited for`, async () => {
      const targets = [...ports.map((port) => `127.0.0.1:${port}`), nobody]
      const said = await Promise.all(
        targets.map((target) => firstWords(`${scheme}://user:${MARK}@${target}/books`)),
      )
      for (const text of said) {
        assert.match(text, /DB_URL/)
        assert.ok(!text.includes(MARK), text)
      }
    })

  for (const url of [
    `postgres://user:${MARK}@127.0.0.1/books?unknown=${MARK}`,
    `postgres://user:${MARK}@127.0.0.1:port/books`,
    `postgres://user:${MARK}%zz@127.0.0.1/books`,
    `postgres:///${MARK}@?`,
    `mysql://user:${MARK}@127.0.0.1/books?unknown=${MARK}`,
    `mysql://user:${MARK}%zz@127.0.0.1/books`,
    `oracle://user:${MARK}@127.0.0.1/books`,
    `user:${MARK}@127.0.0.1/books`,
  ])
    it(`of ${url}, which is not accepted`, () => {
      assert.throws(
        () => readConfig({ DB_URL: url }),
        ({ message }: Error) => message.startsWith('DB_URL ') && !message.includes(MARK),
      )
    })
})

/** What a service says with that DB_URL until it ends or waits for its database. */
async function firstWords(url: string): Promise<string> {
  const { child, output, ended } = spawnService(directory.path, {
    PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'trace',
    DB_URL: url,
    PASSWORD: ACCOUNT.password,
    SECRET_TOKEN: SECRET,
  })
  while (child.exitCode === null && !output().includes('DB_URL')) await setTimeout(20)
  child.kill()
  await ended
  return output()
}
