import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { Auth } from '../../src/auth/auth.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { compact, EXP, expiringAt, hmacToken, NOW } from '../support/tokens.ts'

/** Token lifetime in seconds (§8). */
const LIFETIME = 900

const newAuth = (secret = SECRET) => new Auth(ACCOUNT, secret)

/** Asks an instance that has seen no token, then, as it may remember, the same once more. */
async function isValid(token: string): Promise<boolean> {
  const auth = newAuth()
  const first = await auth.verify(token)
  assert.equal(await auth.verify(token), first, 'the second response is the first')
  return first
}

describe('the login of the account', () => {
  const { username, password } = ACCOUNT

  it('matches its username and its password, and nothing else', () => {
    assert.equal(newAuth().matches({ username, password }), true)
    for (const login of [
      {},
      { password },
      { username },
      { username: password, password: username },
      { username: username.toUpperCase(), password },
      { username, password: `${password} ` },
      { username, password: `${password}\0` },
      { username, password: password.slice(0, -1) },
    ])
      assert.equal(newAuth().matches(login), false, JSON.stringify(login))
  })

  for (const [own, other] of [
    ['\ud800', '\ufffd'],
    ['\ufffd', '\ud800'],
    ['\ud800', '\udfff'],
    ['é', 'e\u0301'],
    ['ß', 'ss'],
  ] as const)
    it(`is told from one that may look or be encoded the same: ${JSON.stringify([own, other])}`, () => {
      const [asPassword, asUsername] = [
        { username, password: own },
        { username: own, password },
      ]
      assert.equal(new Auth(asPassword, SECRET).matches(asPassword), true)
      assert.equal(new Auth(asPassword, SECRET).matches({ username, password: other }), false)
      assert.equal(new Auth(asUsername, SECRET).matches({ username: other, password }), false)
    })
})

// Its header and its claims: test/spec/login.test.ts.
describe('an issued token (§5.3)', () => {
  it('is valid for 15 minutes and no longer', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
    const auth = newAuth()
    const token = await auth.issue()
    t.mock.timers.setTime((NOW + LIFETIME) * 1000 - 1)
    assert.deepEqual([await auth.verify(token), await newAuth().verify(token)], [true, true])
    t.mock.timers.setTime((NOW + LIFETIME) * 1000)
    assert.deepEqual([await auth.verify(token), await newAuth().verify(token)], [false, false])
    assert.equal(await auth.verify(await auth.issue()), true, 'one that is issued then')
  })

  it('is signed with the UTF-8 bytes of a secret of any length', async () => {
    for (const secret of ['x', 'é漢📚', 'x'.repeat(10_000)]) {
      const auth = newAuth(secret)
      assert.equal(await auth.verify(await auth.issue()), true)
      assert.equal(await auth.verify(hmacToken({ exp: EXP }, { secret })), true)
      assert.equal(await newAuth().verify(await auth.issue()), false)
    }
  })
})

// Other tokens that are refused, and those that are accepted: test/spec.
describe('a token is refused (§5.5)', () => {
  const GOOD = expiringAt(EXP)
  const [header = '', payload = '', signature = ''] = GOOD.split('.')
  const sha512 = createHmac('sha512', SECRET).update(`${header}.${payload}`).digest('base64url')
  // Of many tokens some have a signature with - and _.
  const plain = Array.from({ length: 200 }, (_, i) => expiringAt(EXP + i)).find((token) =>
    /-[^.]*_[^.]*$/.test(token),
  )
  const inBase64 = plain?.replace(/[^.]*$/, (text) => text.replaceAll('-', '+').replaceAll('_', '/'))
  const algorithms = ['nOnE', 'HS128', 'hs256', 'HS256 ', null, ['HS256'], 256, undefined]
  for (const [name, token] of Object.entries({
    ...Object.fromEntries(
      algorithms.flatMap((alg) => [
        [`alg ${JSON.stringify(alg)}, unsigned`, `${compact(JSON.stringify({ alg }))}.${payload}.`],
        [`alg ${JSON.stringify(alg)}, signed`, hmacToken({ exp: EXP }, { header: { alg } })],
      ]),
    ),
    'with an empty secret': hmacToken({ exp: EXP }, { secret: '' }),
    'with the hash of another method': `${header}.${payload}.${sha512}`,
    'with half a signature': GOOD.slice(0, -20),
    'with a critical extension': hmacToken({ exp: EXP }, { header: { alg: 'HS256', crit: ['x'], x: 1 } }),
    'with an empty crit': hmacToken({ exp: EXP }, { header: { alg: 'HS256', crit: [] } }),
    unencoded: hmacToken({ exp: EXP }, { header: { alg: 'HS256', crit: ['b64'], b64: false } }),
    'with a line break after it': `${GOOD}\n`,
    'with a space before it': ` ${GOOD}`,
    'with a space in it': `${header}.${payload}. ${signature}`,
    'in plain base64': inBase64 ?? '',
    'with null': hmacToken('null'),
    'with an array': hmacToken(`[{"exp":${EXP}}]`),
    'with a header that is an array': hmacToken({ exp: EXP }, { header: '[]' }),
  }))
    it(name, async () => assert.equal(await isValid(token), false))

  it('out of its time, to the second', async (t) => {
    assert.equal(await isValid(plain ?? ''), true)
    t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
    assert.equal(await isValid(hmacToken({ exp: NOW })), false)
    assert.equal(await isValid(hmacToken({ exp: NOW + 1, nbf: NOW + 1 })), false)
    assert.equal(await isValid(hmacToken({ exp: NOW + 1, nbf: String(NOW) })), false)
    assert.equal(await isValid(hmacToken({ exp: NOW + 1, nbf: NOW })), true)
  })
})

describe('the memory of valid tokens', () => {
  it('forgets none of what it is told to remember, and everything on time', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
    const auth = newAuth()
    const tokens = Array.from({ length: 2500 }, (_, i) => expiringAt(NOW + 1 + i))
    for (let round = 0; round < 2; round++)
      for (const token of tokens) assert.equal(await auth.verify(token), true)
    // What is remembered is answered at once.
    const answers = tokens.map((token) => auth.verify(token))
    assert.deepEqual(
      answers.map((answer) => answer === true),
      tokens.map((_, i) => i >= 1500),
      'the last 1,000 are remembered',
    )
    await Promise.all(answers)
    t.mock.timers.setTime((NOW + 1250) * 1000)
    for (let round = 0; round < 2; round++)
      for (const [i, token] of tokens.entries())
        assert.equal(await auth.verify(token), i >= 1250, `the token that expires after ${i + 1} s`)
  })

  it('lets a token expire to the millisecond, as the first verification does', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
    const auth = newAuth()
    for (const exp of [NOW + 2, NOW + 2.5]) {
      const token = expiringAt(exp)
      t.mock.timers.setTime(NOW * 1000)
      assert.equal(await auth.verify(token), true)
      for (const early of [1000, 1, 0, -1]) {
        t.mock.timers.setTime(exp * 1000 - early)
        const answers = [await newAuth().verify(token), await auth.verify(token), await auth.verify(token)]
        assert.deepEqual(answers, Array(3).fill(early > 0), `exp ${exp}, ${early} ms before`)
      }
    }
  })

  it('does not take a token for another that begins or ends like it, nor shorten a long one', async () => {
    const auth = newAuth()
    for (const token of [expiringAt(EXP), hmacToken({ exp: EXP, filler: 'x'.repeat(2000) })]) {
      for (let round = 0; round < 2; round++) assert.equal(await auth.verify(token), true)
      const beginnings = Array.from(token, (_, length) => token.slice(0, length))
      for (const other of [`${token}x`, token.slice(1), ` ${token}`, ...beginnings])
        assert.equal(await auth.verify(other), false)
      assert.equal(await auth.verify(token), true)
    }
  })
})
