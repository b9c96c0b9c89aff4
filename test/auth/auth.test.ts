import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { Auth } from '../../src/auth/auth.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { compact, EXP, expiringAt, hmacToken, NOW } from '../support/tokens.ts'

/** Token lifetime in seconds (§8). */
const LIFETIME = 900

const newAuth = () => new Auth(ACCOUNT, SECRET)

describe('the login of the account', () => {
  const { username, password } = ACCOUNT

  it('matches its username and its password', () => {
    assert.equal(newAuth().matches({ username, password }), true)
  })

  for (const [name, login] of Object.entries({
    'another username': { username: 'root', password },
    'another password': { username, password: 'x' },
    'both swapped': { username: password, password: username },
    'no field': {},
    'no username': { password },
    'no password': { username },
    'empty fields': { username: '', password: '' },
    'the username in upper case': { username: username.toUpperCase(), password },
    'a space behind the password': { username, password: `${password} ` },
    'a NUL behind the password': { username, password: `${password}\0` },
    'the beginning of the password': { username, password: password.slice(0, -1) },
  })) {
    it(`does not match ${name}`, () => assert.equal(newAuth().matches(login), false))
  }

  it('is told from one that is not the same text, though it may look or be encoded the same', () => {
    for (const [own, other] of [
      ['\ud800', '\ufffd'],
      ['\ufffd', '\ud800'],
      ['\ud800', '\udfff'],
      ['é', 'e\u0301'],
      ['ß', 'ss'],
    ] as const) {
      assert.equal(new Auth({ username, password: own }, SECRET).matches({ username, password: own }), true)
      assert.equal(
        new Auth({ username, password: own }, SECRET).matches({ username, password: other }),
        false,
      )
      assert.equal(
        new Auth({ username: own, password }, SECRET).matches({ username: other, password }),
        false,
      )
    }
  })
})

describe('an issued token (§5.3)', () => {
  it('is signed with HS256 and carries its expiry in 15 minutes as its one claim', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_999 })
    const [header = '', payload = '', signature] = (await newAuth().issue()).split('.')
    const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
    assert.deepEqual(decoded(header), { alg: 'HS256', typ: 'JWT' })
    assert.deepEqual(decoded(payload), { exp: 1_700_000_000 + LIFETIME })
    const expected = createHmac('sha256', SECRET).update(`${header}.${payload}`).digest('base64url')
    assert.equal(signature, expected)
  })

  it('is valid for 15 minutes and no longer', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
    const auth = newAuth()
    const token = await auth.issue()
    t.mock.timers.setTime((NOW + LIFETIME) * 1000 - 1)
    assert.equal(await auth.verify(token), true)
    assert.equal(await newAuth().verify(token), true)
    t.mock.timers.setTime((NOW + LIFETIME) * 1000)
    assert.equal(await auth.verify(token), false)
    assert.equal(await newAuth().verify(token), false)
    assert.equal(await auth.verify(await auth.issue()), true, 'one that is issued then')
  })

  it('is signed with the UTF-8 bytes of a secret of any length', async () => {
    for (const secret of ['x', 'é漢📚', 'x'.repeat(10_000)]) {
      const auth = new Auth(ACCOUNT, secret)
      assert.equal(await auth.verify(await auth.issue()), true)
      assert.equal(await auth.verify(hmacToken({ exp: EXP }, { secret })), true)
      assert.equal(await newAuth().verify(await auth.issue()), false)
    }
  })
})

describe('the memory of valid tokens', () => {
  it('forgets none of what it is told to remember, and everything on time', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
    const auth = newAuth()
    const count = 2500
    const tokens = Array.from({ length: count }, (_, i) => expiringAt(NOW + 1 + i))
    for (let round = 0; round < 2; round++) {
      for (const token of tokens) assert.equal(await auth.verify(token), true)
    }
    t.mock.timers.setTime((NOW + count / 2) * 1000)
    for (const [i, token] of tokens.entries()) {
      assert.equal(await auth.verify(token), i >= count / 2, `the token that expires after ${i + 1} s`)
    }
    for (const [i, token] of tokens.entries()) assert.equal(await auth.verify(token), i >= count / 2)
  })

  it('lets a token expire to the millisecond, as the first verification does', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
    const auth = newAuth()
    for (const exp of [NOW + 2, NOW + 2.5]) {
      const token = expiringAt(exp)
      t.mock.timers.setTime(NOW * 1000)
      assert.equal(await auth.verify(token), true)
      for (let now = NOW * 1000; now <= (NOW + 4) * 1000; now += 100) {
        t.mock.timers.setTime(now)
        const valid = now < exp * 1000
        const when = `exp ${exp} at ${now / 1000}`
        assert.equal(await newAuth().verify(token), valid, when)
        assert.equal(await auth.verify(token), valid, `${when}, remembered`)
        assert.equal(await auth.verify(token), valid, `${when}, asked again`)
      }
    }
  })

  it('does not take a token for another that begins or ends like it', async () => {
    const auth = newAuth()
    const token = expiringAt(EXP)
    assert.equal(await auth.verify(token), true)
    for (const other of [`${token}x`, token.slice(0, -1), token.slice(1), ` ${token}`, `${token} `]) {
      assert.equal(await auth.verify(other), false)
    }
    assert.equal(await auth.verify(token), true)
  })

  it('does not shorten long tokens', async () => {
    const auth = newAuth()
    const long = (end: string) => hmacToken({ exp: EXP, filler: 'x'.repeat(5000) + end })
    const [header, payload] = long('a').split('.')
    for (let round = 0; round < 2; round++) {
      assert.equal(await auth.verify(long('a')), true)
      assert.equal(await auth.verify(`${header}.${payload}.${compact('x'.repeat(32))}`), false)
    }
  })
})
