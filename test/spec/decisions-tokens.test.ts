import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, call, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { useSession } from './session.ts'
import { type HmacAlgorithm, inOneMinute, needsSecret, serverTime, signHmac, split } from './tokens.ts'

/** Claims, and whether they are accepted. */
const CLAIMS: Record<string, [isValid: boolean, claims: () => string]> = {
  'an expiry with a fraction': [true, () => `{"exp":${inOneMinute()}.5}`],
  'nbf a minute ago': [true, () => `{"exp":${inOneMinute()},"nbf":${inOneMinute() - 120}}`],
  'iat, sub and others': [true, () => `{"exp":${inOneMinute()},"iat":1,"sub":"x","jti":"1","x":{}}`],
  'no exp': [false, () => '{}'],
  'no exp, but others': [false, () => `{"nbf":1,"iat":1,"EXP":${inOneMinute()}}`],
  'exp as a string': [false, () => `{"exp":"${inOneMinute()}"}`],
  'exp null': [false, () => '{"exp":null}'],
  'exp an array': [false, () => `{"exp":[${inOneMinute()}]}`],
  'exp 1e400': [false, () => '{"exp":1e400}'],
  'exp 0': [false, () => '{"exp":0}'],
  'exp negative': [false, () => `{"exp":-${inOneMinute()}}`],
  'nbf ahead': [false, () => `{"exp":${inOneMinute() + 60},"nbf":${inOneMinute()}}`],
  'nbf 1e400': [false, () => `{"exp":${inOneMinute()},"nbf":1e400}`],
}

for (const target of targets())
  describe(`decisions on login and tokens (${target.name})`, () => {
    const session = useSession(target)
    const secret = target.secret ?? ''
    const { username, password } = target

    /** Reads a book with the token. */
    async function expectToken(token: string, isValid: boolean): Promise<void> {
      const { id } = await session.create()
      if (isValid) await session.expect('GET', `/book/${id}`, { token }, 200, 'Book retrieved successfully')
      else await session.expect('GET', `/book/${id}`, { token }, 401, 'Invalid token')
    }

    // Few, because a service may lock out who fails too often.
    for (const json of [{}, { username }, { password }])
      it(`decision: /token: a JSON object with a field missing is 401 Invalid credentials: only [${Object.keys(json)}]`, async () =>
        assertResponse(await call(target, 'POST', '/token', { json }), 401, 'Invalid credentials', null))

    for (const text of [
      ...['5', 'null', 'true', '["a"]', '{}'].flatMap((value) => [
        `{"username":${value},"password":"p"}`,
        `{"username":"u","password":${value}}`,
      ]),
      ...['[]', '"username"', '5', 'null', '[{"username":"a","password":"b"}]'],
    ])
      it(`decision: /token: no object, or a field of the wrong type, is 400 Invalid request payload: ${text}`, async () =>
        assertResponse(await call(target, 'POST', '/token', { text }), 400, 'Invalid request payload', null))

    it('decision: unknown fields are ignored: in a login', async () => {
      const json = { username, password, id: 'x', remember: true }
      assertResponse(await call(target, 'POST', '/token', { json }), 200, 'Token generated successfully')
    })

    for (const alg of ['HS256', 'HS384', 'HS512'] satisfies HmacAlgorithm[])
      it(
        `decision: HS256, HS384 and HS512 are accepted (all are HMAC): ${alg}`,
        needsSecret(target),
        async () => {
          await expectToken(signHmac(secret, { exp: inOneMinute() }, alg), true)
          await expectToken(signHmac(`${secret}x`, { exp: inOneMinute() }, alg), false)
        },
      )

    for (const [name, [isValid, claims]] of Object.entries(CLAIMS))
      it(
        `decision: \`exp\` required and numeric; \`nbf\`, if present, honoured: ${name}`,
        needsSecret(target),
        () => expectToken(signHmac(secret, claims()), isValid),
      )

    it(
      'decision: no leeway: a token that expired a second ago, or is valid from the next seconds on, is 401 Invalid token',
      needsSecret(target),
      async () => {
        const now = serverTime(await call(target, 'GET', '/books'))
        await expectToken(signHmac(secret, { exp: now - 1 }), false)
        await expectToken(signHmac(secret, { exp: now + 600, nbf: now + 30 }), false)
      },
    )

    it('§5.5: a signature in other than its one base64url spelling (RFC 7515 §2) is 401 Invalid token', async () => {
      const [header, claims, signature] = split(session.token)
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const last = alphabet.indexOf(signature.at(-1) ?? '')
      const sameBytes = [1, 2, 3].map((spareBits) => signature.slice(0, -1) + alphabet[last + spareBits])
      for (const spelling of [...sameBytes, `${signature}=`]) {
        assert.ok(Buffer.from(spelling, 'base64url').equals(Buffer.from(signature, 'base64url')), spelling)
        await expectToken(`${header}.${claims}.${spelling}`, false)
      }
    })

    it('§5.4: two Authorization headers are no "token string itself": 401 Invalid token', async () => {
      for (const pair of [
        [session.token, session.token],
        ['x', session.token],
      ]) {
        const headers = pair.map((token) => `Authorization: ${token}`)
        const reply = await exchange(target, request(target, 'GET', '/books', headers))
        assertResponse(reply, 401, 'Invalid token')
      }
    })
  })
