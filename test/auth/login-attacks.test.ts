import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { useServer } from '../http/serve.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import { ACCOUNT } from '../support/service.ts'

const LIMIT = 3
const WRONG = { ...ACCOUNT, password: 'x' }

const shared = useServer({ loginFailureLimit: LIMIT })
const unlimited = useServer()

interface Login {
  readonly account?: object
  /** The source address of the connection. */
  readonly from?: string
  readonly fields?: Record<string, string>
}

async function logIn(
  server: typeof shared,
  { account = WRONG, from = '127.0.0.1', fields = {} }: Login = {},
) {
  const request = { method: 'POST', url: '/token', payload: account, headers: fields, remoteAddress: from }
  const {
    statusCode: status,
    headers,
    payload: body,
  } = await server.app.inject({ ...request, method: 'POST' })
  return { status, headers, body }
}

const INVALID = '{"status":401,"message":"Invalid credentials","data":null}'
const TOO_MANY = '{"status":429,"message":"Too many requests","data":null}'

function assertTooMany({ status, headers, body }: Awaited<ReturnType<typeof logIn>>): void {
  assert.equal(body, TOO_MANY)
  assert.equal(status, 429)
  const seconds = Number(headers['retry-after'])
  assert.ok(Number.isInteger(seconds) && seconds > 800 && seconds <= 900, `Retry-After: ${seconds}`)
}

describe('a login that is wrong', () => {
  it('is answered the same, be it the user or the password', async () => {
    const tell = async (account: object) => {
      const { headers, body } = await logIn(unlimited, { account })
      const told = Object.entries(headers).filter(([name]) => name !== 'date' && name !== 'x-request-id')
      return { body, told }
    }
    const expected = await tell(WRONG)
    assert.equal(expected.body, INVALID)
    for (const account of [
      { ...ACCOUNT, username: 'root' },
      { username: 'root', password: 'x' },
      { ...ACCOUNT, password: ACCOUNT.password.slice(0, -1) },
      { ...ACCOUNT, password: 'x'.repeat(4000) },
      {},
    ])
      assert.deepEqual(await tell(account), expected)
  })

  it('is found wrong by comparing hashes of both fields, in constant time', () => {
    const source = readFileSync(join(import.meta.dirname, '../../src/auth/auth.ts'), 'utf8')
    const matches = /\n {2}matches\(.*?\n {2}\}\n/s.exec(source)?.[0] ?? ''
    for (const field of ['username', 'password'])
      assert.match(matches, new RegExp(`= timingSafeEqual\\(digestOf\\(${field}\\), this\\.#${field}\\)`))
    assert.doesNotMatch(matches, /===|\bif\b/, 'nothing is compared before')
  })
})

describe('after too many failed logins from one address', () => {
  const fail = (from: string, fields = {}) => logIn(shared, { from, fields })
  const enter = (from: string, account: object = ACCOUNT) => logIn(shared, { from, account })
  const warnings = () => shared.lines().filter(({ level }) => level === 40)

  it('every login from there is 429, right or wrong, nobody else notices, and the log tells it once', async () => {
    for (let i = 0; i < LIMIT; i++) assert.equal((await fail('127.0.0.3')).body, INVALID)
    for (const account of [WRONG, ACCOUNT, []]) assertTooMany(await enter('127.0.0.3', account))
    assert.equal((await enter('127.0.0.2')).status, 200)
    assert.equal((await fail('127.0.0.2')).body, INVALID)
    assert.deepEqual(
      warnings().map(({ msg, ip }) => [msg, ip]),
      [['too many failed logins from this address', '127.0.0.3']],
    )
  })

  it('tokens from there are as good as ever', async () => {
    const { app, authorization } = shared
    const from = { headers: { authorization }, remoteAddress: '127.0.0.3' }
    assert.equal((await app.inject({ url: '/books', ...from })).statusCode, 200)
  })

  it('somebody who logs in from there gives a guesser no more attempts', async () => {
    for (let i = 1; i <= LIMIT; i++) {
      assert.equal((await enter('127.0.0.4')).status, 200)
      assert.equal((await fail('127.0.0.4')).body, INVALID)
    }
    assertTooMany(await fail('127.0.0.4'))
  })

  it('of many that had all begun before the first failed, no more are tried than one after the other', async () => {
    const body = JSON.stringify(WRONG)
    const fields = [`Content-Length: ${body.length}`, 'Expect: 100-continue']
    const connections = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(shared.url)))
    for (const connection of connections) {
      await connection.send(head('POST /token', ...fields) + body.slice(0, -1))
      assert.equal((await connection.response()).status, 100)
    }
    for (const connection of connections) await connection.send(body.slice(-1))
    const responses = await Promise.all(connections.map((connection) => connection.response()))
    const statuses = responses.map(({ status }) => status).toSorted()
    assert.deepEqual(statuses, [...Array(LIMIT).fill(401), ...Array(20 - LIMIT).fill(429)])
    for (const connection of connections) connection[Symbol.dispose]()
  })

  it('what is no login is no failure: 400', async () => {
    for (let i = 0; i < 2 * LIMIT; i++) assert.equal((await enter('127.0.0.6', [])).status, 400)
    assert.equal((await enter('127.0.0.6')).status, 200)
  })

  it('X-Forwarded-For is nobody’s word, as long as TRUST_PROXY is not set, and the log tells so once', async () => {
    const ignored = () => warnings().filter(({ msg }) => msg.startsWith('X-Forwarded-For is ignored'))
    assert.deepEqual(ignored(), [])
    const failAs = (client: number) => fail('127.0.0.7', { 'x-forwarded-for': `192.0.2.${client}` })
    for (let i = 0; i < LIMIT; i++) await failAs(i)
    assertTooMany(await failAs(99))
    assert.equal(ignored().length, 1)
  })

  // Which logins are foreign: test/http/cors.test.ts.
  it('a login that a browser sends for a foreign page uses up no attempt', async () => {
    const fields = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    for (let i = 0; i < 2 * LIMIT; i++) assert.equal((await fail('127.0.0.8', fields)).status, 403)
    assert.equal((await fail('127.0.0.8')).body, INVALID)
  })
})

// Which address counts with other values: test/http/gate.test.ts.
describe('with TRUST_PROXY', () => {
  const behind = useServer({ trustProxy: ['10.0.0.0/8', 'loopback'], loginFailureLimit: LIMIT })
  /** The last entry is what the trusted proxy says. Those before it are what the client had put there. */
  const fail = (addresses: string) =>
    logIn(behind, { fields: { 'x-forwarded-for': `${addresses}, 10.1.2.3` } })

  it('each client behind it has a count of its own, whatever it says of itself', async () => {
    for (let i = 0; i < LIMIT; i++)
      assert.equal((await fail(`203.0.113.${i}, 198.51.100.${i}, 192.0.2.1`)).body, INVALID)
    assertTooMany(await fail('203.0.113.99, 192.0.2.1'))
    assertTooMany(await fail('::ffff:192.0.2.1'))
    assert.equal((await fail('192.0.2.1, 192.0.2.2')).body, INVALID)
  })
})

it('with a limit of 0, no failures are too many', async () => {
  for (let i = 0; i < 101; i++) assert.equal((await logIn(unlimited)).body, INVALID)
})
