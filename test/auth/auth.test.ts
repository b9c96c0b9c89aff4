import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { Auth } from '../../src/auth/auth.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { compact, EXP, expiringAt, hmacToken, NOW } from '../support/tokens.ts'

/** Token lifetime in seconds (§8). */
const LIFETIME = 900

const newAuth = (secret = SECRET) => new Auth(ACCOUNT, secret)

const GOOD = expiringAt(EXP)
const [HEADER = '', PAYLOAD = '', SIGNATURE = ''] = GOOD.split('.')

/** Asks an instance that has seen no token, then, as it may remember, the same once more. */
async function isValid(token: string): Promise<boolean> {
  const auth = newAuth()
  const first = await auth.verify(token)
  assert.equal(await auth.verify(token), first, 'the second response is the first')
  return first
}

describe('the login of the account', () => {
  const { username, password } = ACCOUNT

  it('matches its username and its password', () => {
    assert.equal(newAuth().matches({ username, password }), true)
  })

  for (const [name, login] of Object.entries({
    'another username': { username: 'root', password },
    'both swapped': { username: password, password: username },
    'no field': {},
    'no username': { password },
    'no password': { username },
    'the username in upper case': { username: username.toUpperCase(), password },
    'a space behind the password': { username, password: `${password} ` },
    'a NUL behind the password': { username, password: `${password}\0` },
    'the beginning of the password': { username, password: password.slice(0, -1) },
  }))
    it(`does not match ${name}`, () => assert.equal(newAuth().matches(login), false))

  for (const [own, other] of [
    ['\ud800', '\ufffd'],
    ['\ufffd', '\ud800'],
    ['\ud800', '\udfff'],
    ['é', 'e\u0301'],
    ['ß', 'ss'],
  ] as const)
    it(`is told from one that may look or be encoded the same: ${JSON.stringify([own, other])}`, () => {
      assert.equal(new Auth({ username, password: own }, SECRET).matches({ username, password: own }), true)
      assert.equal(
        new Auth({ username, password: own }, SECRET).matches({ username, password: other }),
        false,
      )
      assert.equal(
        new Auth({ username: own, password }, SECRET).matches({ username: other, password }),
        false,
      )
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

describe('a token is refused (§5.5)', () => {
  const hash = (name: string) => createHmac(name, SECRET).update(`${HEADER}.${PAYLOAD}`).digest('base64url')
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = ALPHABET.indexOf(GOOD.at(-1) ?? '')
  // Of many tokens some have a signature with - and _.
  const tokens = Array.from({ length: 200 }, (_, i) => expiringAt(EXP + i))
  const plain = tokens.find((token) => /-[^.]*$/.test(token) && /_[^.]*$/.test(token)) ?? ''
  const [head, payload, signature = ''] = plain.split('.')
  for (const [name, token] of Object.entries({
    ...Object.fromEntries(
      ['none', 'nOnE', '', 'HS128', 'hs256', 'HS256 ', null, ['HS256'], 256, undefined].flatMap((alg) => [
        [`alg ${JSON.stringify(alg)}, unsigned`, `${compact(JSON.stringify({ alg }))}.${PAYLOAD}.`],
        [`alg ${JSON.stringify(alg)}, signed`, hmacToken({ exp: EXP }, { header: { alg } })],
      ]),
    ),
    'with an empty secret': hmacToken({ exp: EXP }, { secret: '' }),
    'with the hash of another method': `${HEADER}.${PAYLOAD}.${hash('sha512')}`,
    'with half a signature': GOOD.slice(0, -20),
    'with a critical extension': hmacToken({ exp: EXP }, { header: { alg: 'HS256', crit: ['x'], x: 1 } }),
    'with an empty crit': hmacToken({ exp: EXP }, { header: { alg: 'HS256', crit: [] } }),
    unencoded: hmacToken({ exp: EXP }, { header: { alg: 'HS256', crit: ['b64'], b64: false } }),
    'with padding': `${GOOD}=`,
    'with a space after it': `${GOOD} `,
    'with a line break after it': `${GOOD}\n`,
    'with a space before it': ` ${GOOD}`,
    'with a space in it': `${HEADER}.${PAYLOAD}. ${SIGNATURE}`,
    'with the spare bits 1': GOOD.slice(0, -1) + ALPHABET[last + 1],
    'with the spare bits 3': GOOD.slice(0, -1) + ALPHABET[last + 3],
    'in plain base64': `${head}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}`,
    empty: '',
    'with two parts': `${HEADER}.${PAYLOAD}`,
    'with four parts': `${GOOD}.`,
    'with a scheme': `Bearer ${GOOD}`,
    'with no JSON': hmacToken('not JSON'),
    'with null': hmacToken('null'),
    'with an array': hmacToken(`[{"exp":${EXP}}]`),
    'with a header that is an array': hmacToken({ exp: EXP }, { header: '[]' }),
  }))
    it(name, async () => assert.equal(await isValid(token), false))

  it('but not in another accepted method, or with more in it', async () => {
    for (const token of [
      hmacToken({ exp: EXP }, { header: { alg: 'HS384' }, hash: 'sha384' }),
      hmacToken({ exp: EXP }, { header: { alg: 'HS512' }, hash: 'sha512' }),
      hmacToken({ exp: EXP, nbf: 1, sub: 'someone', aud: ['x'] }, { header: { alg: 'HS256', kid: 'x' } }),
      plain,
    ])
      assert.equal(await isValid(token), true)
  })

  for (const payload of [
    ...[
      `{"exp":${NOW - 1}}`,
      `{"exp":${NOW}}`,
      '{"exp":0}',
      `{"exp":-${EXP}}`,
      '{"exp":1e400}',
      '{"exp":-1e400}',
    ],
    ...[`{"exp":"${EXP}"}`, '{"exp":null}', '{"exp":true}', `{"exp":[${EXP}]}`, `{"EXP":${EXP}}`, '{}'],
    ...[`{"exp":${EXP},"nbf":${NOW + 1}}`, `{"exp":${EXP},"nbf":"${NOW - 1}"}`, `{"exp":${EXP},"nbf":1e400}`],
  ])
    it(`out of its time: ${payload}`, async (t) => {
      t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
      assert.equal(await isValid(hmacToken(payload)), false)
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
      for (let now = NOW * 1000; now <= (NOW + 4) * 1000; now += 100) {
        t.mock.timers.setTime(now)
        const answers = [await newAuth().verify(token), await auth.verify(token), await auth.verify(token)]
        assert.deepEqual(answers, Array(3).fill(now < exp * 1000), `exp ${exp} at ${now / 1000}`)
      }
    }
  })

  it('does not take a token for another that begins or ends like it, nor shorten a long one', async () => {
    const auth = newAuth()
    const long = hmacToken({ exp: EXP, filler: 'x'.repeat(5000) })
    for (let round = 0; round < 2; round++) {
      for (const token of [GOOD, long]) {
        assert.equal(await auth.verify(token), true)
        for (const other of [`${token}x`, token.slice(0, -1), token.slice(1), ` ${token}`])
          assert.equal(await auth.verify(other), false)
      }
    }
  })
})
