import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { Auth } from '../../src/auth/auth.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { compact, EXP, expiringAt, hmacToken, NOW } from '../support/tokens.ts'

const GOOD = expiringAt(EXP)
const [HEADER = '', PAYLOAD = '', SIGNATURE = ''] = GOOD.split('.')

/** Asks an instance that has seen no token, then, as it may remember, the same once more. */
async function isValid(token: string): Promise<boolean> {
  const auth = new Auth(ACCOUNT, SECRET)
  const first = await auth.verify(token)
  assert.equal(await auth.verify(token), first, 'the second response is the first')
  return first
}

describe('a token that is accepted (§5.5)', () => {
  const header = (alg: string) => ({ header: { alg } })
  for (const [name, token] of Object.entries({
    HS256: hmacToken({ exp: EXP }, header('HS256')),
    HS384: hmacToken({ exp: EXP }, { ...header('HS384'), hash: 'sha384' }),
    HS512: hmacToken({ exp: EXP }, { ...header('HS512'), hash: 'sha512' }),
    'with other claims': hmacToken({ exp: EXP, sub: 'someone', iat: 1, aud: ['x'] }),
    'with other header parameters': hmacToken({ exp: EXP }, { header: { alg: 'HS256', kid: 'x' } }),
    'with nbf in the past': hmacToken({ exp: EXP, nbf: 1 }),
  })) {
    it(name, async () => assert.equal(await isValid(token), true))
  }
})

describe('a signing method that is not HMAC-based is refused (§5.5)', () => {
  for (const alg of ['none', 'None', 'nOnE', 'NONE', '', 'HS128', 'hs256', 'HS256 ']) {
    const header = { alg }
    const signed = `${compact(JSON.stringify(header))}.${PAYLOAD}`
    it(`alg ${JSON.stringify(alg)}, unsigned`, async () => assert.equal(await isValid(`${signed}.`), false))
    it(`alg ${JSON.stringify(alg)}, signed with HMAC all the same`, async () => {
      assert.equal(await isValid(hmacToken({ exp: EXP }, { header })), false)
    })
  }

  for (const header of [{}, { alg: null }, { alg: ['HS256'] }, { alg: 256 }]) {
    it(`header ${JSON.stringify(header)}`, async () => {
      assert.equal(await isValid(hmacToken({ exp: EXP }, { header })), false)
    })
  }

  it('RS256', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const signed = `${compact(JSON.stringify({ alg: 'RS256', typ: 'JWT' }))}.${PAYLOAD}`
    const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url')
    assert.equal(await isValid(`${signed}.${signature}`), false)
    // The secret could be a public key's text, if the method were taken from the token.
    const secret = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    assert.equal(await new Auth(ACCOUNT, secret).verify(`${signed}.${signature}`), false)
  })
})

describe('a token with a bad signature is refused (§5.5)', () => {
  const hash = (name: string) => createHmac(name, SECRET).update(`${HEADER}.${PAYLOAD}`).digest('base64url')
  const otherPayload = compact(JSON.stringify({ exp: EXP + 1 }))
  const otherHeader = compact(JSON.stringify({ alg: 'HS256' }))
  for (const [name, token] of Object.entries({
    'another secret': hmacToken({ exp: EXP }, { secret: `${SECRET}x` }),
    'an empty secret': hmacToken({ exp: EXP }, { secret: '' }),
    'another payload': `${HEADER}.${otherPayload}.${SIGNATURE}`,
    'another header': `${otherHeader}.${PAYLOAD}.${SIGNATURE}`,
    'the hash of another method': `${HEADER}.${PAYLOAD}.${hash('sha512')}`,
    'no signature': `${HEADER}.${PAYLOAD}.`,
    'half a signature': GOOD.slice(0, -20),
    'a changed first character': `${HEADER}.${PAYLOAD}.${SIGNATURE.startsWith('A') ? 'B' : 'A'}${SIGNATURE.slice(1)}`,
    'a critical extension': hmacToken({ exp: EXP }, { header: { alg: 'HS256', crit: ['x'], x: 1 } }),
    'an unencoded payload': hmacToken({ exp: EXP }, { header: { alg: 'HS256', crit: ['b64'], b64: false } }),
  })) {
    it(name, async () => assert.equal(await isValid(token), false))
  }
})

describe('another spelling of a good signature is refused', () => {
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = ALPHABET.indexOf(GOOD.at(-1) ?? '')
  for (const spare of [1, 2, 3]) {
    it(`the spare bits ${spare} in its last character`, async () => {
      const token = GOOD.slice(0, -1) + ALPHABET[last + spare]
      const bytes = (text: string) => Buffer.from(text.slice(text.lastIndexOf('.') + 1), 'base64url')
      assert.ok(bytes(token).equals(bytes(GOOD)), 'a lenient decoder reads the same bytes')
      assert.equal(await isValid(token), false)
    })
  }

  it('padding, spaces, line breaks and the characters of plain base64', async () => {
    // Of many tokens some have a signature with - or _.
    const tokens = Array.from({ length: 20 }, (_, i) => expiringAt(EXP + i))
    const plain = tokens.find((token) => /[-_][^.]*$/.test(token)) ?? ''
    const [header, payload, signature = ''] = plain.split('.')
    const base64 = signature.replaceAll('-', '+').replaceAll('_', '/')
    assert.notEqual(base64, signature)
    assert.equal(await isValid(plain), true)
    assert.equal(await isValid(`${header}.${payload}.${base64}`), false)
    for (const spelling of [
      `${GOOD}=`,
      `${GOOD} `,
      `${GOOD}\n`,
      ` ${GOOD}`,
      `${HEADER}.${PAYLOAD}. ${SIGNATURE}`,
    ]) {
      assert.equal(await isValid(spelling), false, JSON.stringify(spelling))
    }
  })
})

describe('a token that cannot be parsed is refused (§5.5)', () => {
  for (const token of [
    '',
    '.',
    '..',
    'abc',
    `${HEADER}.${PAYLOAD}`,
    `${GOOD}.`,
    `${GOOD}.${SIGNATURE}.${SIGNATURE}`,
    `Bearer ${GOOD}`,
    `${GOOD}, ${GOOD}`,
    hmacToken('not JSON'),
    hmacToken('null'),
    hmacToken(`[{"exp":${EXP}}]`),
    hmacToken(`${EXP}`),
    hmacToken(`"exp"`),
    hmacToken({ exp: EXP }, { header: 'not JSON' }),
    hmacToken({ exp: EXP }, { header: '[]' }),
  ]) {
    it(JSON.stringify(token.length > 60 ? `${token.slice(0, 60)}…` : token), async () => {
      assert.equal(await isValid(token), false)
    })
  }
})

describe('a token out of its time is refused (§5.5)', () => {
  for (const payload of [
    `{"exp":${NOW - 1}}`,
    `{"exp":${NOW}}`,
    `{"exp":0}`,
    `{"exp":-1}`,
    `{"exp":-${EXP}}`,
    `{"exp":1e400}`,
    `{"exp":-1e400}`,
    `{"exp":"${EXP}"}`,
    `{"exp":null}`,
    `{"exp":true}`,
    `{"exp":[${EXP}]}`,
    `{"EXP":${EXP}}`,
    `{"iat":${NOW}}`,
    '{}',
    `{"exp":${EXP},"nbf":${NOW + 1}}`,
    `{"exp":${EXP},"nbf":"${NOW - 1}"}`,
    `{"exp":${EXP},"nbf":1e400}`,
  ]) {
    it(payload, async (t) => {
      t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
      assert.equal(await isValid(hmacToken(payload)), false)
    })
  }

  it('but not one second before', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
    assert.equal(await isValid(hmacToken({ exp: NOW + 1, nbf: NOW })), true)
  })
})
