import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, call, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { useSession } from './session.ts'
import { inOneMinute, needsSecret, serverTime, signHmac, split } from './tokens.ts'

/** Claims at a time of the service's clock that a token may have, and that make it invalid. */
const VALID: Record<string, (now: number) => string> = {
  'an expiry with a fraction': (now) => `{"exp":${now + 60}.5}`,
  'nbf a minute ago': (now) => `{"exp":${now + 60},"nbf":${now - 60}}`,
  'iat, sub, role and others': (now) => `{"exp":${now + 60},"iat":1,"sub":"x","role":"none","x":{}}`,
}
const INVALID: Record<string, (now: number) => string> = {
  'no exp, but others': (now) => `{"nbf":1,"iat":1,"EXP":${now + 60}}`,
  'exp as a string': (now) => `{"exp":"${now + 60}"}`,
  'exp 1e400': () => '{"exp":1e400}',
  'no leeway: exp a second ago': (now) => `{"exp":${now - 1}}`,
  'no leeway: nbf in the next seconds': (now) => `{"exp":${now + 600},"nbf":${now + 30}}`,
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
        ...['5', 'null', '["a"]'].map((value) => `{"username":${value},"password":"p"}`),
        ...['{"username":"u","password":null}', 'null', '[{"username":"a","password":"b"}]'],
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
      for (const [name, claimsAt] of Object.entries(claimSets))
        it(
          `decision: \`exp\` required and numeric; \`nbf\`, if present, honoured: ${name}`,
          needsSecret(target),
          async () => {
            const now = serverTime(await call(target, 'GET', '/books'))
            await expectToken(signHmac(secret, claimsAt(now)))
          },
        )

    it('§5.5: a signature in other than its one base64url spelling (RFC 7515 §2) is 401 Invalid token', async () => {
      const [header, claims, signature] = split(session.token)
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const last = alphabet.indexOf(signature.at(-1) ?? '')
      const withSpareBit = signature.slice(0, -1) + alphabet[last + 1]
      for (const spelling of [
        withSpareBit,
        `${signature}=`,
        `${signature.slice(0, 9)} ${signature.slice(9)}`,
      ]) {
        assert.ok(Buffer.from(spelling, 'base64url').equals(Buffer.from(signature, 'base64url')), spelling)
        await expectInvalid(`${header}.${claims}.${spelling}`)
      }
    })

    it('§5.4: two Authorization headers are no "token string itself": 401 Invalid token', async () => {
      for (const first of [session.token, 'x']) {
        const headers = [first, session.token].map((token) => `Authorization: ${token}`)
        const reply = await exchange(target, request(target, 'GET', '/books', headers))
        assertResponse(reply, 401, 'Invalid token')
      }
    })
  })
