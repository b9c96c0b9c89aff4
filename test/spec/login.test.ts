import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, call, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { NOVEL, useSession } from './session.ts'
import { decode, encode, inOneMinute, needsSecret, serverTime, signHmac, signRsa, split } from './tokens.ts'

const LIFETIME = 15 * 60

/** The endpoints that need a token, with a request that succeeds. */
const PROTECTED = [
  ['POST', () => '/book', NOVEL, 201, 'Book created successfully'],
  ['GET', () => '/books', undefined, 200, 'Books retrieved successfully'],
  ['GET', (id: number) => `/book/${id}`, undefined, 200, 'Book retrieved successfully'],
  ['PUT', (id: number) => `/book/${id}`, { year: 1970 }, 200, 'Book updated successfully'],
  ['DELETE', (id: number) => `/book/${id}`, undefined, 200, 'Book deleted successfully'],
] as const

const REQUIRED = 'Authorization token required'

/** Replaces the first character by another whose highest bits differ, so that the bytes it stands for differ too. */
const changed = (text: string) => (text[0] === 'A' ? 'g' : 'A') + text.slice(1)

const good = () => ({ exp: inOneMinute() })

/** What is no good token: made of a token of the service, or from nothing. */
const BAD: Record<string, (header: string, claims: string, signature: string) => string> = {
  'one of the service, with Bearer before it': (...parts) => `Bearer ${parts.join('.')}`,
  'without its signature': (header, claims) => `${header}.${claims}`,
  'with an empty signature': (header, claims) => `${header}.${claims}.`,
  'with another signature': (header, claims, signature) => `${header}.${claims}.${changed(signature)}`,
  'with a later expiry': (h, c, signature) =>
    `${h}.${encode({ exp: Number(decode(c).exp) + 1 })}.${signature}`,
  'a letter beyond ASCII': () => 'é',
  // RFC 7515 appendix A.5.
  unsecured: () => `${encode({ alg: 'none' })}.${encode(good())}.`,
  'signed with RS256': () => signRsa(good()),
  'signed with the empty text': () => signHmac('', good()),
  'signed with the key that the header brings along': () =>
    signHmac('own key', good(), 'HS256', { alg: 'HS256', jwk: { kty: 'oct', k: encode('own key') } }),
}

/** The same, signed with the secret. */
const SIGNED: Record<string, (secret: string) => string> = {
  'expired a minute ago': (secret) => signHmac(secret, { exp: inOneMinute() - 120 }),
  'RS256 in the header of an HMAC': (secret) => signHmac(secret, good(), 'HS256', { alg: 'RS256' }),
  'none in the header of an HMAC': (secret) => signHmac(secret, good(), 'HS256', { alg: 'none' }),
  'claims that are no JSON': (secret) => signHmac(secret, `{"exp":${inOneMinute()}`),
}

for (const target of targets())
  describe(`login and tokens (${target.name})`, () => {
    const { username, password } = target
    const session = useSession(target)

    async function logIn(token?: string) {
      const options = { json: { username, password }, token }
      const reply = await call<{ token: string }>(target, 'POST', '/token', options)
      assertResponse(reply, 200, 'Token generated successfully')
      return reply
    }

    // Few, because a service may lock out who fails too often.
    for (const [name, json] of Object.entries({
      'another username': { username: `${username}x`, password },
      'another password': { username, password: `${password}x` },
      'the password without its end': { username, password: password.slice(0, -1) },
    }))
      it(`§4 POST /token: "username or password differs from the configured account" is 401 Invalid credentials: ${name}`, async () =>
        assertResponse(await call(target, 'POST', '/token', { json }), 401, 'Invalid credentials', null))

    for (const text of ['', 'username=a&password=b', '{"username":"a","password":"b"', '{"username":"a",}'])
      it(`§4 POST /token: "body cannot be read as a login request" is 400 Invalid request payload: ${text}`, async () =>
        assertResponse(await call(target, 'POST', '/token', { text }), 400, 'Invalid request payload', null))

    it('§5.1: "POST `/token` is public.": an invalid Authorization header is no obstacle', async () =>
      void (await logIn('x')))

    it('§5.2: "When both match the configured account, the service returns a token.": data is {token}, which works, also after a later login', async () => {
      const { data } = (await logIn()).body
      assert.deepEqual([Object.keys(data), typeof data.token], [['token'], 'string'])
      await logIn()
      const { id } = await session.create()
      await session.expect('GET', `/book/${id}`, { token: data.token }, 200, 'Book retrieved successfully')
    })

    // That the key is SECRET_TOKEN: tokens that are signed with it, in the other files, are accepted like these.
    it('§5.3: "The token is a signed token (JWT) using an HMAC signature with SHA-256 (HS256)"; "It carries one claim, `exp`, the expiry time as a Unix timestamp in seconds, set to 15 minutes after issue." §8: "Token lifetime | 15 minutes from issue"', async () => {
      const before = serverTime(await call(target, 'GET', '/books'))
      const reply = await logIn()
      const [header, payload] = split(reply.body.data.token)
      const claims = decode(payload)
      assert.deepEqual([decode(header).alg, Object.keys(claims)], ['HS256', ['exp']])
      assert.ok(Number.isInteger(claims.exp), `exp is ${claims.exp}`)
      const issued = Number(claims.exp) - LIFETIME
      assert.ok(
        before - 2 <= issued && issued <= serverTime(reply) + 2,
        `issued at ${issued}, after ${before}`,
      )
    })

    for (const [method, path, json, status, message] of PROTECTED)
      it(`§5.5: "\`Authorization\` header missing or empty" and "bad signature" are 401 before it is looked whether the book exists, and nothing is done; §5.6: "any valid token may use every protected endpoint": ${method} ${path(1)}`, async () => {
        const options = json === undefined ? {} : { json }
        const book = await session.create()
        const forged = signHmac('not the secret', good())
        for (const at of [path(book.id), path(await session.missingId())]) {
          await session.expect(method, at, { ...options, token: undefined }, 401, REQUIRED)
          await session.expect(method, at, { ...options, token: forged }, 401, 'Invalid token')
          const bytes = request(target, method, at, ['Authorization: \t '], json && JSON.stringify(json))
          assertResponse(await exchange(target, bytes), 401, REQUIRED)
        }
        await session.assertStored(book)
        await session.expect(method, path(book.id), options, status, message)
      })

    const assertInvalid = (token: string) =>
      session.expect('GET', '/books', { token }, 401, 'Invalid token').then(() => {})

    for (const [name, make] of Object.entries(BAD))
      it(`§5.4: "The header value is the token string itself", §5.5: "token cannot be parsed, has a bad signature … or uses a signing method that is not HMAC-based" is 401 Invalid token: ${name}`, () =>
        assertInvalid(make(...split(session.token))))

    for (const [name, make] of Object.entries(SIGNED))
      it(
        `§5.5: "token cannot be parsed … is expired" is 401 Invalid token: signed with the secret, ${name}`,
        needsSecret(target),
        () => assertInvalid(make(target.secret ?? '')),
      )
  })
