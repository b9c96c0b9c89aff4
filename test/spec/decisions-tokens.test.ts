import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, call, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { useSession } from './session.ts'
import { needsSecret, serverTime, signHmac, split } from './tokens.ts'

/** Tokens at a time of the service's clock that are valid, and that are not. */
const VALID: Record<string, (secret: string, now: number) => string> = {
  HS256: (secret, now) => signHmac(secret, { exp: now + 60 }, 'HS256'),
  HS384: (secret, now) => signHmac(secret, { exp: now + 60 }, 'HS384'),
  HS512: (secret, now) => signHmac(secret, { exp: now + 60 }, 'HS512'),
  'an expiry with a fraction': (secret, now) => signHmac(secret, { exp: now + 60.5 }),
  'nbf a minute ago': (secret, now) => signHmac(secret, { exp: now + 60, nbf: now - 60 }),
  'other claims': (secret, now) => signHmac(secret, { exp: now + 60, iat: 1, sub: 'x', role: 'none', x: {} }),
}
const INVALID: Record<string, (secret: string, now: number) => string> = {
  'HS512 with another secret': (secret, now) => signHmac(`${secret}x`, { exp: now + 60 }, 'HS512'),
  'no exp, but others': (secret, now) => signHmac(secret, { nbf: 1, iat: 1, EXP: now + 60 }),
  'exp as a string': (secret, now) => signHmac(secret, { exp: `${now + 60}` }),
  'exp 1e400': (secret) => signHmac(secret, '{"exp":1e400}'),
  'exp a second ago': (secret, now) => signHmac(secret, { exp: now - 1 }),
  'nbf in the next seconds': (secret, now) => signHmac(secret, { exp: now + 600, nbf: now + 30 }),
}

for (const target of targets())
  describe(`decisions on login and tokens (${target.name})`, () => {
    const session = useSession(target)
    const { username, password } = target
    const logIn = (options: object) => call(target, 'POST', '/token', options)

    const expectValid = (token: string) =>
      session.expect('GET', '/books?limit=1', { token }, 200, 'Books retrieved successfully')
    /** Twice, because a service may remember what it has verified. */
    const expectInvalid = async (token: string) => {
      for (let time = 1; time <= 2; time++)
        await session.expect('GET', '/books?limit=1', { token }, 401, 'Invalid token')
    }

    // Few, because a service may lock out who fails too often.
    it('decision: /token: a JSON object with a field missing is 401 Invalid credentials', async () => {
      for (const json of [{}, { username }, { password }])
        assertResponse(await logIn({ json }), 401, 'Invalid credentials', null)
    })

    for (const [text, reason] of [
      ['{"username":1,"password":"p"}', 'username must be a string'],
      ['{"username":"u","password":["secret"]}', 'password must be a string'],
      ['{"username":"u","password":null}', 'password must be a string'],
      ['[{"username":"a","password":"b"}]', 'the body must be a JSON object'],
      ['{"username":"\xe9","password":"b"}', 'the body is not JSON in UTF-8, or has more values than a book'],
    ] as const)
      it(`decision: /token: no object, or a field of the wrong type, is 400 Invalid request payload, and X-Invalid-Input says why, but nothing of it: ${text}`, async () => {
        const reply = await logIn({ text: Buffer.from(text, 'latin1') })
        assertResponse(reply, 400, 'Invalid request payload', null)
        assert.equal(reply.headers.get('x-invalid-input'), reason)
      })

    it('decision: unknown fields are ignored: in a login', async () => {
      const json = { username, password, id: 'x', remember: true }
      assertResponse(await logIn({ json }), 200, 'Token generated successfully')
    })

    for (const [tokens, expectToken] of [
      [VALID, expectValid],
      [INVALID, expectInvalid],
    ] as const)
      for (const [name, make] of Object.entries(tokens))
        it(
          `decision: HS256, HS384 and HS512 are accepted; \`exp\` is required and must be a finite number; \`nbf\` is honoured if present; no leeway: ${name}`,
          needsSecret(target),
          async () => {
            const now = serverTime(await call(target, 'GET', '/books'))
            await expectToken(make(target.secret ?? '', now))
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
