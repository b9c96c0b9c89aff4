import assert from 'node:assert/strict'
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
  readonly forwardedFor?: string
}

interface Answer {
  readonly status: number | undefined
  readonly retryAfter: string | undefined
  readonly body: string
}

function logIn(url: string, { account = WRONG, from, forwardedFor }: Login = {}): Promise<Answer> {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
  return new Promise((resolve, reject) => {
    const options = {
      method: 'POST',
      headers,
      agent: false,
      ...(from === undefined ? {} : { localAddress: from }),
    }
    request(`${url}/token`, options, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text) => {
        body += text
      })
      response.on('end', () => {
        resolve({ status: response.statusCode, retryAfter: response.headers['retry-after'], body })
      })
    })
      .on('error', reject)
      .end(JSON.stringify(account))
  })
}

const INVALID = '{"status":401,"message":"Invalid credentials","data":null}'
const TOO_MANY = '{"status":429,"message":"Too many requests","data":null}'

function assertTooMany({ status, retryAfter, body }: Answer): void {
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

describe('a login that is wrong', () => {
  const one = useService()

  it('is answered the same, be it the user or the password', async () => {
    const tell = async (account: object) => {
      const response = await fetch(`${one.url}/token`, { method: 'POST', body: JSON.stringify(account) })
      const told = [...response.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
      return { status: response.status, body: await response.text(), told }
    }
    const expected = await tell(WRONG)
    assert.equal(expected.body, INVALID)
    for (const account of [
      { ...ACCOUNT, username: 'root' },
      { username: 'root', password: 'x' },
      { ...ACCOUNT, username: '' },
      { ...ACCOUNT, password: ACCOUNT.password.slice(0, -1) },
      { ...ACCOUNT, password: 'x'.repeat(100_000) },
      {},
    ]) {
      assert.deepEqual(await tell(account), expected)
    }
  })

  it('is found wrong by comparing hashes of both fields, in constant time', () => {
    const source = readFileSync(join(import.meta.dirname, '../../src/auth.ts'), 'utf8')
    const matches = /\n {2}matches\(.*?\n {2}\}\n/s.exec(source)?.[0] ?? ''
    for (const field of ['username', 'password']) {
      assert.match(
        matches,
        new RegExp(`const ${field} = sameText\\(login\\.${field} .*, this\\.#account\\.${field}\\)`),
      )
    }
    assert.doesNotMatch(matches, /===|\bif\b/, 'nothing is compared before')
    const sameText = /function sameText.*?\n\}\n/s.exec(source)?.[0] ?? ''
    assert.match(sameText, /createHash\('sha256'\)/)
    assert.match(sameText, /return timingSafeEqual\(digest\(a\), digest\(b\)\)/)
    assert.doesNotMatch(sameText, /===|\bif\b|\.length/)
  })
})

// Elsewhere the loopback interface has one address only.
const skip = process.platform === 'linux' ? false : 'needs 127.0.0.0/8'

describe('after too many failed logins from one address', { skip }, () => {
  const shared = service()
  const at = (address: string) => shared.url.replace('localhost', address)

  it('every login from there is 429, right or wrong, and nobody else notices', async () => {
    await exhaust(at('127.0.0.1'), { from: '127.0.0.3' })
    assertTooMany(await logIn(at('127.0.0.1'), { from: '127.0.0.3', account: ACCOUNT }))
    assertTooMany(await logIn(at('127.0.0.1'), { from: '127.0.0.3', account: [] }))
    assert.equal((await logIn(at('127.0.0.1'), { from: '127.0.0.2', account: ACCOUNT })).status, 200)
    assert.equal((await logIn(at('127.0.0.1'), { from: '127.0.0.2' })).body, INVALID)
  })

  it('tokens from there are as good as ever', async () => {
    const status = await new Promise((resolve) => {
      const headers = { authorization: shared.token }
      request(`${at('127.0.0.1')}/books`, { headers, localAddress: '127.0.0.3' }, (response) =>
        resolve(response.resume().statusCode),
      ).end()
    })
    assert.equal(status, 200)
  })

  it('the log tells it once, with the address and nothing of the login', async () => {
    while (!shared.output().includes('too many failed logins')) await setTimeout(10)
    const lines = shared
      .output()
      .split('\n')
      .filter((line) => line.includes('too many failed logins'))
    assert.equal(lines.length, 1)
    const { level, ip } = JSON.parse(lines[0] ?? '')
    assert.deepEqual({ level, ip }, { level: 40, ip: '127.0.0.3' })
    assert.doesNotMatch(shared.output(), new RegExp(ACCOUNT.password))
  })

  it('a success before that begins the count anew', async () => {
    const from = '127.0.0.4'
    for (let round = 0; round < 3; round++) {
      for (let i = 1; i < LIMIT; i++) assert.equal((await logIn(at('127.0.0.1'), { from })).body, INVALID)
      assert.equal((await logIn(at('127.0.0.1'), { from, account: ACCOUNT })).status, 200)
    }
    await exhaust(at('127.0.0.1'), { from })
  })

  it('of many at once no more are tried than one after the other', async () => {
    const from = '127.0.0.5'
    const answers = await Promise.all(Array.from({ length: 50 }, () => logIn(at('127.0.0.1'), { from })))
    assert.equal(answers.filter(({ status }) => status === 401).length, LIMIT)
    assert.equal(answers.filter(({ status }) => status === 429).length, 50 - LIMIT)
  })

  it('nor of many that had all begun before the first failed', async () => {
    const body = JSON.stringify(WRONG)
    const connections: RawConnection[] = []
    for (let i = 0; i < 20; i++) {
      const connection = await RawConnection.open(at('127.0.0.1'))
      connections.push(connection)
      await connection.send(head('POST /token', `Content-Length: ${body.length}`) + body.slice(0, -1))
    }
    await setTimeout(200)
    for (const connection of connections) await connection.send(body.slice(-1))
    const answers = await Promise.all(connections.map((connection) => connection.answer()))
    assert.equal(answers.filter(({ status }) => status === 401).length, LIMIT)
    assert.equal(answers.filter(({ status }) => status === 429).length, 20 - LIMIT)
    for (const connection of connections) connection[Symbol.dispose]()
  })

  it('what is no login is no failure: 400', async () => {
    const from = '127.0.0.6'
    for (let i = 0; i < 2 * LIMIT; i++) {
      assert.equal((await logIn(at('127.0.0.1'), { from, account: [] })).status, 400)
    }
    assert.equal((await logIn(at('127.0.0.1'), { from, account: ACCOUNT })).status, 200)
  })

  it('X-Forwarded-For is nobody’s word, as long as TRUST_PROXY is not set', async () => {
    const from = '127.0.0.7'
    for (let i = 0; i < LIMIT; i++) await logIn(at('127.0.0.1'), { from, forwardedFor: `192.0.2.${i}` })
    assertTooMany(await logIn(at('127.0.0.1'), { from, forwardedFor: '192.0.2.99' }))
  })
})

describe('TRUST_PROXY decides whose address counts', () => {
  /** What the only trusted proxy says; the entries before it are what the client had put there. */
  const last = (address: string, spoofed = '') => ({ forwardedFor: `${spoofed}${address}` })

  for (const [TRUST_PROXY, suffix] of [
    ['true', ''],
    ['1', ''],
    ['127.0.0.1', ''],
    ['10.0.0.0/8,loopback', ', 10.1.2.3'],
    ['2', ', 10.1.2.3'],
  ] as const) {
    describe(TRUST_PROXY, () => {
      const behind = service({ TRUST_PROXY, HOST: '127.0.0.1' })

      it('each client behind it has a count of its own, whatever it says of itself', async () => {
        for (let i = 0; i < LIMIT; i++) {
          const answer = await logIn(
            behind.url,
            last(`192.0.2.1${suffix}`, `203.0.113.${i}, 198.51.100.${i}, `),
          )
          assert.equal(answer.body, INVALID)
        }
        assertTooMany(await logIn(behind.url, last(`192.0.2.1${suffix}`, '203.0.113.99, ')))
        assertTooMany(await logIn(behind.url, last(`::ffff:192.0.2.1${suffix}`)))
        const other = await logIn(behind.url, {
          ...last(`192.0.2.2${suffix}`, '192.0.2.1, '),
          account: ACCOUNT,
        })
        assert.equal(other.status, 200)
      })

      it('an IPv6 client is its /64', async () => {
        for (let i = 0; i < LIMIT; i++) await logIn(behind.url, last(`2001:db8::${i + 1}:1${suffix}`))
        assertTooMany(await logIn(behind.url, last(`2001:db8::ffff${suffix}`)))
        assert.equal((await logIn(behind.url, last(`2001:db8:0:1::1${suffix}`))).body, INVALID)
      })
    })
  }

  describe('an address that is not that of who connects', () => {
    const elsewhere = service({ TRUST_PROXY: '10.0.0.0/8', HOST: '127.0.0.1' })

    it('lets nobody choose an address', async () => {
      for (let i = 0; i < LIMIT; i++) await logIn(elsewhere.url, last(`192.0.2.${i}`))
      assertTooMany(await logIn(elsewhere.url, last('192.0.2.99')))
    })
  })
})

describe('LOGIN_FAILURE_LIMIT', () => {
  const byDefault = useService()
  const off = useService(undefined, { LOGIN_FAILURE_LIMIT: '0' })

  it('is 100 by default', () => exhaust(byDefault.url, {}, 100))

  it('is off with 0', async () => {
    for (let i = 0; i < 150; i++) assert.equal((await logIn(off.url)).body, INVALID)
  })
})
