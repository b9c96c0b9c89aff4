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

interface LoginResponse {
  readonly status: number | undefined
  readonly retryAfter: string | undefined
  readonly body: string
}

function logIn(url: string, { account = WRONG, from, forwardedFor }: Login = {}): Promise<LoginResponse> {
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
      { ...ACCOUNT, password: 'x'.repeat(4000) },
      {},
    ]) {
      assert.deepEqual(await tell(account), expected)
    }
  })

  it('is found wrong by comparing hashes of both fields, in constant time', () => {
    const source = readFileSync(join(import.meta.dirname, '../../src/auth/auth.ts'), 'utf8')
    const matches = /\n {2}matches\(.*?\n {2}\}\n/s.exec(source)?.[0] ?? ''
    for (const field of ['username', 'password']) {
      assert.match(matches, new RegExp(`= timingSafeEqual\\(digestOf\\(${field}\\), this\\.#${field}\\)`))
      assert.match(source, new RegExp(`this\\.#${field} = digestOf\\(${field}\\)`))
    }
    assert.doesNotMatch(matches, /===|\bif\b/, 'nothing is compared before')
    const digestOf = /function digestOf.*?\n\}\n/s.exec(source)?.[0] ?? ''
    assert.match(digestOf, /return createHash\('sha256'\)/)
    assert.doesNotMatch(digestOf, /===|\bif\b|\.length/)
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

  it('somebody who logs in from there gives a guesser no more attempts', async () => {
    const from = '127.0.0.4'
    for (let i = 1; i <= LIMIT; i++) {
      assert.equal((await logIn(at('127.0.0.1'), { from, account: ACCOUNT })).status, 200)
      assert.equal((await logIn(at('127.0.0.1'), { from })).body, INVALID)
    }
    assertTooMany(await logIn(at('127.0.0.1'), { from }))
  })

  it('of many at once no more are tried than one after the other', async () => {
    const from = '127.0.0.5'
    const responses = await Promise.all(Array.from({ length: 50 }, () => logIn(at('127.0.0.1'), { from })))
    assert.equal(responses.filter(({ status }) => status === 401).length, LIMIT)
    assert.equal(responses.filter(({ status }) => status === 429).length, 50 - LIMIT)
  })

  it('nor of many that had all begun before the first failed', async () => {
    const body = JSON.stringify(WRONG)
    const connections: RawConnection[] = []
    for (let i = 0; i < 20; i++) {
      const connection = await RawConnection.open(at('127.0.0.1'))
      connections.push(connection)
      const fields = [`Content-Length: ${body.length}`, 'Expect: 100-continue']
      await connection.send(head('POST /token', ...fields) + body.slice(0, -1))
      assert.equal((await connection.response()).status, 100)
    }
    for (const connection of connections) await connection.send(body.slice(-1))
    const responses = await Promise.all(connections.map((connection) => connection.response()))
    assert.equal(responses.filter(({ status }) => status === 401).length, LIMIT)
    assert.equal(responses.filter(({ status }) => status === 429).length, 20 - LIMIT)
    for (const connection of connections) connection[Symbol.dispose]()
  })

  it('what is no login is no failure: 400', async () => {
    const from = '127.0.0.6'
    for (let i = 0; i < 2 * LIMIT; i++) {
      assert.equal((await logIn(at('127.0.0.1'), { from, account: [] })).status, 400)
    }
    assert.equal((await logIn(at('127.0.0.1'), { from, account: ACCOUNT })).status, 200)
  })

  it('X-Forwarded-For is nobody’s word, as long as TRUST_PROXY is not set, and the log tells so once', async () => {
    assert.doesNotMatch(shared.output(), /X-Forwarded-For/)
    const from = '127.0.0.7'
    for (let i = 0; i < LIMIT; i++) await logIn(at('127.0.0.1'), { from, forwardedFor: `192.0.2.${i}` })
    assertTooMany(await logIn(at('127.0.0.1'), { from, forwardedFor: '192.0.2.99' }))
    const warnings = () => shared.output().match(/"level":40,.*X-Forwarded-For is ignored/g)
    while (warnings() === null) await setTimeout(10)
    assert.equal(warnings()?.length, 1)
  })
})

describe('a page that a visitor of ours has open elsewhere', () => {
  const LISTED = 'https://books.example'
  const alone = service()
  const shared = service({ CORS_ORIGIN: LISTED })
  const open = service({ CORS_ORIGIN: '*' })
  const FOREIGN = '{"status":403,"message":"Cross-origin request refused","data":null}'

  /** Not with fetch, which lets nobody set these. */
  const post = (url: string, fields: Record<string, string>, account: object = WRONG) =>
    new Promise<string>((resolve, reject) => {
      const options = { method: 'POST', headers: { 'content-type': 'text/plain', ...fields }, agent: false }
      request(`${url}/token`, options, async (response) => {
        resolve((await response.setEncoding('utf8').toArray()).join(''))
      })
        .on('error', reject)
        .end(JSON.stringify(account))
    })

  const THEIRS: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost.evil.example' },
  ]

  for (const fields of THEIRS) {
    it(`is refused with ${JSON.stringify(fields)}, and uses up no attempt`, async () => {
      for (let i = 0; i < 2 * LIMIT; i++) assert.equal(await post(alone.url, fields), FOREIGN)
      assert.equal(await post(alone.url, fields, ACCOUNT), FOREIGN)
      assert.equal((await logIn(alone.url, { account: ACCOUNT })).status, 200)
    })
  }

  it('may log in if it is listed, and nobody else may', async () => {
    const site = { 'sec-fetch-site': 'cross-site' }
    assert.match(await post(shared.url, { origin: LISTED }, ACCOUNT), /"status":200/)
    assert.match(await post(shared.url, { origin: LISTED, ...site }, ACCOUNT), /"status":200/)
    assert.equal(await post(shared.url, { origin: `${LISTED}:8443`, ...site }, ACCOUNT), FOREIGN)
    assert.match(await post(open.url, { origin: 'https://any.example', ...site }, ACCOUNT), /"status":200/)
  })

  it('is told from our own, also behind a proxy that adds TLS', async () => {
    const OURS: Record<string, string>[] = [
      { origin: alone.url },
      { origin: alone.url, 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://books.test', host: 'books.test' },
      { origin: 'https://books.test', host: 'Books.test:443' },
      // A proxy that puts a name of its own into Host.
      { origin: 'https://books.test', host: 'upstream:8080', 'sec-fetch-site': 'same-origin' },
    ]
    for (const fields of OURS) {
      assert.match(await post(alone.url, fields, ACCOUNT), /"status":200/, JSON.stringify(fields))
    }
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
          const response = await logIn(
            behind.url,
            last(`192.0.2.1${suffix}`, `203.0.113.${i}, 198.51.100.${i}, `),
          )
          assert.equal(response.body, INVALID)
        }
        assertTooMany(await logIn(behind.url, last(`192.0.2.1${suffix}`, '203.0.113.99, ')))
        assertTooMany(await logIn(behind.url, last(`::ffff:192.0.2.1${suffix}`)))
        const other = await logIn(behind.url, {
          ...last(`192.0.2.2${suffix}`, '192.0.2.1, '),
          account: ACCOUNT,
        })
        assert.equal(other.status, 200)
      })

      it('an IPv6 client is its /64, and four of them use up their /48', async () => {
        for (let site = 0; site < 4; site++) {
          const address = (host: string) => last(`2001:db8:0:${site}::${host}${suffix}`)
          for (let i = 0; i < LIMIT; i++) {
            assert.equal((await logIn(behind.url, address(`${i + 1}:1`))).body, INVALID)
          }
          assertTooMany(await logIn(behind.url, address('ffff')))
        }
        assertTooMany(await logIn(behind.url, last(`2001:db8:0:4::1${suffix}`)))
        assert.equal((await logIn(behind.url, last(`2001:db8:1::1${suffix}`))).body, INVALID)
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
