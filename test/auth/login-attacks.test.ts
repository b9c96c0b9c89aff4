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
const behind = useServer({ trustProxy: ['10.0.0.0/8', 'loopback'], loginFailureLimit: LIMIT })

/** @param remoteAddress the source address of the connection. */
const logIn = (remoteAddress: string, payload: object = WRONG, headers = {}, { app } = shared) =>
  app.inject({ method: 'POST', url: '/token', payload, headers, remoteAddress })
type Response = Awaited<ReturnType<typeof logIn>>

function assertWrong({ payload }: Response): void {
  assert.equal(payload, '{"status":401,"message":"Invalid credentials","data":null}')
}

function assertTooMany({ statusCode, headers, payload }: Response): void {
  assert.equal(payload, '{"status":429,"message":"Too many requests","data":null}')
  assert.equal(statusCode, 429)
  const seconds = Number(headers['retry-after'])
  assert.ok(Number.isInteger(seconds) && seconds > 800 && seconds <= 900, `Retry-After: ${seconds}`)
}

describe('a login that is wrong', () => {
  it('is answered the same, be it the user or the password', async () => {
    const told = new Set<string>()
    for (const [i, account] of [
      WRONG,
      { ...ACCOUNT, username: 'root' },
      { ...ACCOUNT, password: ACCOUNT.password.slice(0, -1) },
      { ...ACCOUNT, password: 'x'.repeat(4000) },
      {},
    ].entries()) {
      const response = await logIn(`127.0.1.${i}`, account)
      assertWrong(response)
      const { date, 'x-request-id': id, ...headers } = response.headers
      told.add(JSON.stringify(headers))
    }
    assert.equal(told.size, 1)
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
  const warnings = () => shared.lines().filter(({ level }) => level === 40)

  it('every login from there is 429, right or wrong, nobody else notices, tokens are as good as ever, and the log tells it once', async () => {
    const remoteAddress = '127.0.0.3'
    for (let i = 0; i < LIMIT; i++) assertWrong(await logIn(remoteAddress))
    for (const account of [WRONG, ACCOUNT, []]) assertTooMany(await logIn(remoteAddress, account))
    assert.equal((await logIn('127.0.0.2', ACCOUNT)).statusCode, 200)
    assertWrong(await logIn('127.0.0.2'))
    assert.deepEqual(
      warnings().map(({ msg, ip }) => [msg, ip]),
      [['too many failed logins from this address', remoteAddress]],
    )
    const { app, authorization } = shared
    const list = await app.inject({ url: '/books', headers: { authorization }, remoteAddress })
    assert.equal(list.statusCode, 200)
  })

  it('somebody who logs in from there gives a guesser no more attempts', async () => {
    for (let i = 1; i <= LIMIT; i++) {
      assert.equal((await logIn('127.0.0.4', ACCOUNT)).statusCode, 200)
      assertWrong(await logIn('127.0.0.4'))
    }
    assertTooMany(await logIn('127.0.0.4'))
  })

  it('of many that had all begun before the first failed, no more are tried than one after the other, and the right one is not tried either', async () => {
    const begin = async (account: object) => {
      const connection = await RawConnection.open(shared.url)
      const body = JSON.stringify(account)
      const fields = [`Content-Length: ${body.length}`, 'Expect: 100-continue']
      await connection.send(head('POST /token', ...fields) + body.slice(0, -1))
      assert.equal((await connection.response()).status, 100)
      return connection
    }
    const connections = await Promise.all(Array.from({ length: 20 }, () => begin(WRONG)))
    using right = await begin(ACCOUNT)
    for (const connection of connections) await connection.send('}')
    const responses = await Promise.all(connections.map((connection) => connection.response()))
    const statuses = responses.map(({ status }) => status).toSorted()
    assert.deepEqual(statuses, [...Array(LIMIT).fill(401), ...Array(20 - LIMIT).fill(429)])
    await right.send('}')
    assert.equal((await right.response()).status, 429)
    for (const connection of connections) connection[Symbol.dispose]()
  })

  // Which logins are foreign: test/http/cors.test.ts.
  it('what is no login (400), or sent for a foreign page (403), is no failure', async () => {
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    for (let i = 0; i < LIMIT; i++) {
      assert.equal((await logIn('127.0.0.6', [])).statusCode, 400)
      assert.equal((await logIn('127.0.0.6', WRONG, foreign)).statusCode, 403)
    }
    assert.equal((await logIn('127.0.0.6', ACCOUNT)).statusCode, 200)
  })

  it('X-Forwarded-For is nobody’s word, as long as TRUST_PROXY is not set, and the log tells so once', async () => {
    const ignored = () => warnings().filter(({ msg }) => msg.startsWith('X-Forwarded-For is ignored'))
    assert.deepEqual(ignored(), [])
    const failAs = (client: number) => logIn('127.0.0.7', WRONG, { 'x-forwarded-for': `192.0.2.${client}` })
    for (let i = 0; i < LIMIT; i++) await failAs(i)
    assertTooMany(await failAs(99))
    assert.equal(ignored().length, 1)
  })

  // Which address counts with other values: test/http/gate.test.ts.
  it('with TRUST_PROXY, each client has a count of its own, whatever it says of itself', async () => {
    /** The last address is what the trusted proxy says. Those before it are what the client had put there. */
    const fail = (addresses: string) =>
      logIn('127.0.0.1', WRONG, { 'x-forwarded-for': `${addresses}, 10.1.2.3` }, behind)
    for (let i = 0; i < LIMIT; i++) assertWrong(await fail(`203.0.113.${i}, 198.51.100.${i}, 192.0.2.1`))
    assertTooMany(await fail('203.0.113.99, 192.0.2.1'))
    assertWrong(await fail('192.0.2.1, 192.0.2.2'))
    assert.doesNotMatch(JSON.stringify(behind.lines()), /X-Forwarded-For is ignored/)
  })
})
