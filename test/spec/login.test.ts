import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, call, type Reply, targets } from './client.ts'
import { useSession } from './session.ts'
import { decode, needsSecret, serverTime, signHmac, split } from './tokens.ts'

const LIFETIME = 15 * 60

for (const target of targets())
  describe(`login (${target.name})`, () => {
    const { username, password } = target
    const session = useSession(target)

    async function logIn(): Promise<Reply<{ token: string }>> {
      const reply = await call<{ token: string }>(target, 'POST', '/token', { json: { username, password } })
      assertResponse(reply, 200, 'Token generated successfully')
      return reply
    }

    it('§4 POST /token: "success" is 200 Token generated successfully with data {token}', async () => {
      const { data } = (await logIn()).body
      assert.deepEqual([Object.keys(data), typeof data.token], [['token'], 'string'])
    })

    // Few, because a service may lock out who fails too often.
    for (const [name, login] of Object.entries({
      'another username': { username: `${username}x`, password },
      'another password': { username, password: `${password}x` },
      'the password without its end': { username, password: password.slice(0, -1) },
    }))
      it(`§4 POST /token: "username or password differs from the configured account" is 401 Invalid credentials: ${name}`, async () => {
        assertResponse(
          await call(target, 'POST', '/token', { json: login }),
          401,
          'Invalid credentials',
          null,
        )
      })

    for (const text of ['', 'username=a&password=b', '{"username":"a","password":"b"', '{"username":"a",}'])
      it(`§4 POST /token: "body cannot be read as a login request" is 400 Invalid request payload: ${text}`, async () => {
        assertResponse(await call(target, 'POST', '/token', { text }), 400, 'Invalid request payload', null)
      })

    it('§5.1: "POST `/token` is public.": an invalid Authorization header is no obstacle', async () => {
      const reply = await call(target, 'POST', '/token', { token: 'x', json: { username, password } })
      assertResponse(reply, 200, 'Token generated successfully')
    })

    it('§5.2: "When both match the configured account, the service returns a token.": one that works, also after a later login', async () => {
      const { token } = (await logIn()).body.data
      await logIn()
      const { id } = await session.create()
      await session.expect('GET', `/book/${id}`, { token }, 200, 'Book retrieved successfully')
    })

    it(
      '§5.3: "The token is a signed token (JWT) using an HMAC signature with SHA-256 (HS256), signed with the configured `SECRET_TOKEN`."',
      needsSecret(target),
      async () => {
        const { token } = (await logIn()).body.data
        const [header, claims] = split(token)
        assert.equal(decode(header).alg, 'HS256')
        const [asText, claimsAsText = ''] = [header, claims].map((part) =>
          Buffer.from(part, 'base64url').toString(),
        )
        assert.equal(token, signHmac(target.secret ?? '', claimsAsText, 'HS256', asText))
      },
    )

    it('§5.3: "It carries one claim, `exp`, the expiry time as a Unix timestamp in seconds, set to 15 minutes after issue." §8: "Token lifetime | 15 minutes from issue"', async () => {
      const reply = await logIn()
      const [header, payload] = split(reply.body.data.token)
      const claims = decode(payload)
      assert.deepEqual([decode(header).alg, Object.keys(claims)], ['HS256', ['exp']])
      assert.ok(Number.isInteger(claims.exp), `exp is ${claims.exp}`)
      const lifetime = Number(claims.exp) - serverTime(reply)
      assert.ok(Math.abs(lifetime - LIFETIME) <= 2, `the lifetime is ${lifetime} seconds`)
    })
  })
