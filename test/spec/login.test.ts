import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, call, logIn, type Reply, targets } from './client.ts'
import { useSession } from './session.ts'
import { decode, needsSecret, serverTime, signHmac, split } from './tokens.ts'

const LIFETIME = 15 * 60

const UNREADABLE = {
  'no body': '',
  'no JSON': 'username=a&password=b',
  'an object that does not end': '{"username":"a","password":"b"',
  'a trailing comma': '{"username":"a","password":"b",}',
}

for (const target of targets()) {
  describe(`login (${target.name})`, () => {
    const { username, password } = target
    const session = useSession(target)
    const postLogin = (json: object): Promise<Reply<{ token: string }>> =>
      call(target, 'POST', '/token', { json })

    it('§4 POST /token: "success" is 200 Token generated successfully with data {token}', async () => {
      const reply = await postLogin({ username, password })
      assertResponse(reply, 200, 'Token generated successfully')
      assert.deepEqual(Object.keys(reply.body.data), ['token'])
      assert.equal(typeof reply.body.data.token, 'string')
    })

    // Few, because a service may lock out who fails too often.
    const wrong = {
      'another username': { username: `${username}x`, password },
      'another password': { username, password: `${password}x` },
      'the password without its end': { username, password: password.slice(0, -1) },
      'both wrong': { username: `${username}x`, password: `${password}x` },
    }
    for (const [name, login] of Object.entries(wrong)) {
      it(`§4 POST /token: "username or password differs from the configured account" is 401 Invalid credentials: ${name}`, async () => {
        assertResponse(await postLogin(login), 401, 'Invalid credentials', null)
      })
    }

    for (const [name, text] of Object.entries(UNREADABLE)) {
      it(`§4 POST /token: "body cannot be read as a login request" is 400 Invalid request payload: ${name}`, async () => {
        assertResponse(await call(target, 'POST', '/token', { text }), 400, 'Invalid request payload', null)
      })
    }

    it('§5.1: "POST `/token` is public.": an invalid Authorization header is no obstacle', async () => {
      const reply = await call(target, 'POST', '/token', { token: 'x', json: { username, password } })
      assertResponse(reply, 200, 'Token generated successfully')
    })

    it('§5.2: "When both match the configured account, the service returns a token.": one that works', async () => {
      const { id } = await session.create()
      const token = await logIn(target)
      assertResponse(await call(target, 'GET', `/book/${id}`, { token }), 200, 'Book retrieved successfully')
    })

    it('§5.5: "token valid": until it expires, also after a later login', async () => {
      const { id } = await session.create()
      const earlier = await logIn(target)
      await logIn(target)
      const reply = await call(target, 'GET', `/book/${id}`, { token: earlier })
      assertResponse(reply, 200, 'Book retrieved successfully')
    })

    it('§5.3: "The token is a signed token (JWT) using an HMAC signature with SHA-256 (HS256)"', async () => {
      const [header] = split(await logIn(target))
      assert.equal(decode(header).alg, 'HS256')
    })

    it('§5.3: "signed with the configured `SECRET_TOKEN`"', needsSecret(target), async () => {
      const token = await logIn(target)
      const [header, claims] = split(token)
      const decoded = [header, claims].map((part) => Buffer.from(part, 'base64url').toString())
      assert.equal(token, signHmac(target.secret ?? '', decoded[1] ?? '', 'HS256', decoded[0]))
    })

    it('§5.3: "It carries one claim, `exp`, the expiry time as a Unix timestamp in seconds, set to 15 minutes after issue." §8: "Token lifetime | 15 minutes from issue"', async () => {
      const reply = await postLogin({ username, password })
      const claims = decode(split(reply.body.data.token)[1])
      assert.deepEqual(Object.keys(claims), ['exp'])
      assert.ok(Number.isInteger(claims.exp), `exp is ${claims.exp}`)
      const lifetime = Number(claims.exp) - serverTime(reply)
      assert.ok(Math.abs(lifetime - LIFETIME) <= 2, `the lifetime is ${lifetime} seconds`)
    })
  })
}
