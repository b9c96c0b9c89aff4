import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, call, targets } from './client.ts'
import { useSession } from './session.ts'
import { decode, serverTime, split } from './tokens.ts'

const LIFETIME = 15 * 60

for (const target of targets())
  describe(`login (${target.name})`, () => {
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
  })
