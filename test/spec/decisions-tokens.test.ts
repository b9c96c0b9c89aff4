import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, call, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { useSession } from './session.ts'
import { inOneMinute, needsSecret, serverTime, signHmac, split } from './tokens.ts'

/** Claims that a token may have, and that make it invalid. */
const VALID: Record<string, () => string> = {
  'an expiry with a fraction': () => `{"exp":${inOneMinute()}.5}`,
  'nbf a minute ago': () => `{"exp":${inOneMinute()},"nbf":${inOneMinute() - 120}}`,
  'iat, sub and others': () => `{"exp":${inOneMinute()},"iat":1,"sub":"x","jti":"1","x":{}}`,
}
const INVALID: Record<string, () => string> = {
  'no exp, but others': () => `{"nbf":1,"iat":1,"EXP":${inOneMinute()}}`,
  'exp as a string': () => `{"exp":"${inOneMinute()}"}`,
  'exp null': () => '{"exp":null}',
  'exp 1e400': () => '{"exp":1e400}',
  'exp 0': () => '{"exp":0}',
  'nbf ahead': () => `{"exp":${inOneMinute() + 60},"nbf":${inOneMinute()}}`,
  'nbf 1e400': () => `{"exp":${inOneMinute()},"nbf":1e400}`,
}

for (const target of targets())
  describe(`decisions on login and tokens (${target.name})`, () => {
    const session = useSession(target)
    const secret = target.secret ?? ''
    const { username, password } = target
    const logIn = (options: object) => call(target, 'POST', '/token', options)

    const expectValid = (token: string) =>
      session.expect('GET', '/books?limit=1', { token }, 200, 'Books retrieved successfully')
    const expectInvalid = (token: string) =>
      session.expect('GET', '/books?limit=1', { token }, 401, 'Invalid token')

    // Few, because a service may lock out who fails too often.
    it('decision: /token: a JSON object with a field missing is 401 Invalid credentials', async () => {
      for (const json of [{}, { username }, { password }])
        assertResponse(await logIn({ json }), 401, 'Invalid credentials', null)
    })

    it('decision: /token: no object, or a field of the wrong type, is 400 Invalid request payload', async () => {
      for (const text of [
        ...['5', 'null', '["a"]'].flatMap((value) => [
          `{"username":${value},"password":"p"}`,
          `{"username":"u","password":${value}}`,
        ]),
        ...['"username"', 'null', '[{"username":"a","password":"b"}]'],
      ])
        assertResponse(await logIn({ text }), 400, 'Invalid request payload', null)
    })

    it('decision: unknown fields are ignored: in a login', async () => {
      const json = { username, password, id: 'x', remember: true }
      assertResponse(await logIn({ json }), 200, 'Token generated successfully')
    })

    for (const alg of ['HS256', 'HS384', 'HS512'] as const)
      it(
        `decision: HS256, HS384 and HS512 are accepted (all are HMAC): ${alg}`,
        needsSecret(target),
        async () => {
          await expectValid(signHmac(secret, { exp: inOneMinute() }, alg))
          await expectInvalid(signHmac(`${secret}x`, { exp: inOneMinute() }, alg))
        },
      )

    for (const [claimSets, expectToken] of [
      [VALID, expectValid],
      [INVALID, expectInvalid],
    ] as const)
      for (const [name, claims] of Object.entries(claimSets))
        it(
          `decision: \`exp\` required and numeric; \`nbf\`, if present, honoured: ${name}`,
          needsSecret(target),
          async () => void (await expectToken(signHmac(secret, claims()))),
        )

    it(
      'decision: no leeway: a token that expired a second ago, or is valid from the next seconds on, is 401 Invalid token',
      needsSecret(target),
      async () => {
        const now = serverTime(await call(target, 'GET', '/books'))
        await expectInvalid(signHmac(secret, { exp: now - 1 }))
        await expectInvalid(signHmac(secret, { exp: now + 600, nbf: now + 30 }))
      },
    )

    it('§5.5: a signature in other than its one base64url spelling (RFC 7515 §2) is 401 Invalid token', async () => {
      const [header, claims, signature] = split(session.token)
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const last = alphabet.indexOf(signature.at(-1) ?? '')
      const sameBytes = [1, 2, 3].map((spareBits) => signature.slice(0, -1) + alphabet[last + spareBits])
      const spaced = `${signature.slice(0, 9)} ${signature.slice(9)}`
      for (const spelling of [...sameBytes, `${signature}=`, spaced]) {
        assert.ok(Buffer.from(spelling, 'base64url').equals(Buffer.from(signature, 'base64url')), spelling)
        await expectInvalid(`${header}.${claims}.${spelling}`)
      }
    })

    it('§5.4: two Authorization headers are no "token string itself": 401 Invalid token', async () => {
      for (const first of [session.token, 'x']) {
        const headers = [first, session.token].map((token) => `Authorization: ${token}`)
        assertResponse(
          await exchange(target, request(target, 'GET', '/books', headers)),
          401,
          'Invalid token',
        )
      }
    })
  })
