import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { head, RawConnection } from '../support/raw-socket.ts'
import { ACCOUNT } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const LIMIT = 3
const WRONG = { ...ACCOUNT, password: 'x' }

interface Login {
  readonly account?: object
  /** The source address of the connection. */
  readonly from?: string
  readonly fields?: Record<string, string>
}

interface LoginResponse {
  readonly status: number | undefined
  readonly retryAfter: string | undefined
  readonly body: string
}

/** Not with fetch, which sets some of these header fields itself, and the address not at all. */
function logIn(url: string, { account = WRONG, from, fields = {} }: Login = {}): Promise<LoginResponse> {
  const options = { method: 'POST', headers: fields, agent: false, ...(from && { localAddress: from }) }
  return new Promise((resolve, reject) => {
    request(`${url}/token`, options, async (response) => {
      const body = (await response.setEncoding('utf8').toArray()).join('')
      resolve({ status: response.statusCode, retryAfter: response.headers['retry-after'], body })
    })
      .on('error', reject)
      .end(JSON.stringify(account))
  })
}

const INVALID = '{"status":401,"message":"Invalid credentials","data":null}'
const TOO_MANY = '{"status":429,"message":"Too many requests","data":null}'

function assertTooMany({ status, retryAfter, body }: LoginResponse): void {
  assert.equal(body, TOO_MANY)
  assert.equal(status, 429)
  const seconds = Number(retryAfter)
  assert.ok(Number.isInteger(seconds) && seconds > 800 && seconds <= 900, `Retry-After: ${retryAfter}`)
}

/** Fails as often as is allowed, and checks that then the address is refused, and only then. */
async function exhaust(url: string, login: Login = {}, limit = LIMIT): Promise<void> {
  for (let i = 0; i < limit; i++) assert.equal((await logIn(url, login)).body, INVALID)
  assertTooMany(await logIn(url, login))
}

const service = (settings: Record<string, string> = {}) =>
  useService(undefined, { LOGIN_FAILURE_LIMIT: String(LIMIT), HOST: '0.0.0.0', ...settings })

const shared = service()
const unlimited = useService(undefined, { LOGIN_FAILURE_LIMIT: '0' })
// Elsewhere the loopback interface has one address only.
const skip = process.platform === 'linux' ? false : 'needs 127.0.0.0/8'

describe('a login that is wrong', () => {
  it('is answered the same, be it the user or the password', async () => {
    const tell = async (account: object) => {
      const response = await fetch(`${unlimited.url}/token`, {
        method: 'POST',
        body: JSON.stringify(account),
      })
      const told = [...response.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
      return { body: await response.text(), told }
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

describe('after too many failed logins from one address', { skip }, () => {
  const fail = (from: string, fields = {}) => logIn(shared.url, { from, fields })
  const enter = (from: string, account: object = ACCOUNT) => logIn(shared.url, { from, account })

  it('every login from there is 429, right or wrong, and nobody else notices', async () => {
    await exhaust(shared.url, { from: '127.0.0.3' })
    assertTooMany(await enter('127.0.0.3'))
    assertTooMany(await enter('127.0.0.3', []))
    assert.equal((await enter('127.0.0.2')).status, 200)
    assert.equal((await fail('127.0.0.2')).body, INVALID)
  })

  it('tokens from there are as good as ever', async () => {
    const options = { headers: { authorization: shared.token }, localAddress: '127.0.0.3' }
    const [response] = await once(request(`${shared.url}/books`, options).end(), 'response')
    assert.equal(response.resume().statusCode, 200)
  })

  it('the log tells it once, with the address and nothing of the login', async () => {
    while (!shared.output().includes('too many failed logins')) await setTimeout(10)
    const [line = '', ...others] = shared.output().match(/^.*too many failed logins.*$/gm) ?? []
    assert.deepEqual(others, [])
    const { level, ip } = JSON.parse(line)
    assert.deepEqual({ level, ip }, { level: 40, ip: '127.0.0.3' })
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
    assert.doesNotMatch(shared.output(), /X-Forwarded-For/)
    const failAs = (client: number) => fail('127.0.0.7', { 'x-forwarded-for': `192.0.2.${client}` })
    for (let i = 0; i < LIMIT; i++) await failAs(i)
    assertTooMany(await failAs(99))
    const warnings = () => shared.output().match(/"level":40,.*X-Forwarded-For is ignored/g)
    while (warnings() === null) await setTimeout(10)
    assert.equal(warnings()?.length, 1)
  })
})

// Which logins are foreign: test/http/cors.test.ts.
it('a login that a browser sends for a foreign page uses up no attempt', { skip }, async () => {
  const fields = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  const from = '127.0.0.8'
  for (let i = 0; i < 2 * LIMIT; i++) assert.equal((await logIn(shared.url, { fields, from })).status, 403)
  assert.equal((await logIn(shared.url, { from })).body, INVALID)
})

// Which address counts with other values: test/http/gate.test.ts.
describe('with TRUST_PROXY', () => {
  const behind = service({ TRUST_PROXY: '10.0.0.0/8,loopback', HOST: '127.0.0.1' })
  /** The last entry is what the trusted proxy says. Those before it are what the client had put there. */
  const fail = (addresses: string) =>
    logIn(behind.url, { fields: { 'x-forwarded-for': `${addresses}, 10.1.2.3` } })

  it('each client behind it has a count of its own, whatever it says of itself', async () => {
    for (let i = 0; i < LIMIT; i++)
      assert.equal((await fail(`203.0.113.${i}, 198.51.100.${i}, 192.0.2.1`)).body, INVALID)
    assertTooMany(await fail('203.0.113.99, 192.0.2.1'))
    assertTooMany(await fail('::ffff:192.0.2.1'))
    assert.equal((await fail('192.0.2.1, 192.0.2.2')).body, INVALID)
  })
})

describe('LOGIN_FAILURE_LIMIT', () => {
  const byDefault = useService()

  it('is 100 by default', () => exhaust(byDefault.url, {}, 100))

  it('is off with 0', async () => {
    for (let i = 0; i < 101; i++) assert.equal((await logIn(unlimited.url)).body, INVALID)
  })
})
