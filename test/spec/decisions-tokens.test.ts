import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, call, type Reply, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { useSession } from './session.ts'
import { type HmacAlgorithm, inOneMinute, needsSecret, serverTime, signHmac, split } from './tokens.ts'

const WRONG_TYPE = ['5', 'null', 'true', '["a"]', '{}']
const NO_OBJECT = ['[]', '"username"', '5', 'true', 'null', '[{"username":"a","password":"b"}]']

const ACCEPTED: Record<string, () => string> = {
  'an expiry with a fraction': () => `{"exp":${inOneMinute()}.5}`,
  'nbf in the past': () => `{"exp":${inOneMinute()},"nbf":1}`,
  'nbf a minute ago': () => `{"exp":${inOneMinute()},"nbf":${inOneMinute() - 120}}`,
  'iat, sub and others': () => `{"exp":${inOneMinute()},"iat":1,"sub":"x","jti":"1","x":{}}`,
}

const REFUSED: Record<string, () => string> = {
  'no exp': () => '{}',
  'no exp, but others': () => `{"nbf":1,"iat":1,"EXP":${inOneMinute()}}`,
  'exp as a string': () => `{"exp":"${inOneMinute()}"}`,
  'exp null': () => '{"exp":null}',
  'exp true': () => '{"exp":true}',
  'exp an array': () => `{"exp":[${inOneMinute()}]}`,
  'exp 1e400': () => '{"exp":1e400}',
  'exp -1e400': () => '{"exp":-1e400}',
  'exp 0': () => '{"exp":0}',
  'exp negative': () => `{"exp":-${inOneMinute()}}`,
  'nbf ahead': () => `{"exp":${inOneMinute() + 60},"nbf":${inOneMinute()}}`,
  'nbf 1e400': () => `{"exp":${inOneMinute()},"nbf":1e400}`,
}

for (const target of targets()) {
  describe(`decisions on login and tokens (${target.name})`, () => {
    const session = useSession(target)
    const secret = target.secret ?? ''
    const { username, password } = target

    /** Reads a book with the token. */
    async function readWith(token: string): Promise<Reply> {
      const { id } = await session.create()
      return call(target, 'GET', `/book/${id}`, { token })
    }

    // Few, because a service may lock out who fails too often.
    for (const json of [{}, { username }, { password }]) {
      it(`decision: /token: a JSON object with a field missing is 401 Invalid credentials: only [${Object.keys(json)}]`, async () => {
        assertResponse(await call(target, 'POST', '/token', { json }), 401, 'Invalid credentials', null)
      })
    }

    for (const field of ['username', 'password']) {
      for (const value of WRONG_TYPE) {
        it(`decision: /token: a field of the wrong type is 400 Invalid request payload: ${field} ${value}`, async () => {
          const json = { username, password, [field]: JSON.parse(value) }
          assertResponse(await call(target, 'POST', '/token', { json }), 400, 'Invalid request payload', null)
        })
      }
    }

    for (const text of NO_OBJECT) {
      it(`decision: /token: no object is 400 Invalid request payload: ${text}`, async () => {
        assertResponse(await call(target, 'POST', '/token', { text }), 400, 'Invalid request payload', null)
      })
    }

    it('decision: unknown fields are ignored: in a login', async () => {
      const json = { username, password, id: 'x', remember: true }
      assertResponse(await call(target, 'POST', '/token', { json }), 200, 'Token generated successfully')
    })

    for (const alg of ['HS256', 'HS384', 'HS512'] satisfies HmacAlgorithm[]) {
      it(
        `decision: HS256, HS384 and HS512 are accepted (all are HMAC): ${alg}`,
        needsSecret(target),
        async () => {
          const token = signHmac(secret, { exp: inOneMinute() }, alg)
          assertResponse(await readWith(token), 200, 'Book retrieved successfully')
          const forged = signHmac(`${secret}x`, { exp: inOneMinute() }, alg)
          assertResponse(await readWith(forged), 401, 'Invalid token', null)
        },
      )
    }

    for (const [name, claims] of Object.entries(ACCEPTED)) {
      it(
        `decision: \`exp\` required and numeric; \`nbf\`, if present, honoured: accepted with ${name}`,
        needsSecret(target),
        async () => {
          assertResponse(await readWith(signHmac(secret, claims())), 200, 'Book retrieved successfully')
        },
      )
    }

    for (const [name, claims] of Object.entries(REFUSED)) {
      it(
        `decision: \`exp\` required and numeric; \`nbf\`, if present, honoured: 401 Invalid token with ${name}`,
        needsSecret(target),
        async () => {
          assertResponse(await readWith(signHmac(secret, claims())), 401, 'Invalid token', null)
        },
      )
    }

    it(
      'decision: no leeway: a token that expired a second ago, or is valid from the next seconds on, is 401 Invalid token',
      needsSecret(target),
      async () => {
        const now = serverTime(await call(target, 'GET', '/books'))
        assertResponse(await readWith(signHmac(secret, { exp: now - 1 })), 401, 'Invalid token', null)
        const early = signHmac(secret, { exp: now + 60, nbf: now + 5 })
        assertResponse(await readWith(early), 401, 'Invalid token', null)
      },
    )

    it('§5.5: a signature in other than its one base64url spelling (RFC 7515 §2) is 401 Invalid token', async () => {
      const [header, claims, signature] = split(session.token)
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const last = alphabet.indexOf(signature.at(-1) ?? '')
      const sameBytes = [1, 2, 3].map((spareBits) => signature.slice(0, -1) + alphabet[last + spareBits])
      const spellings = [...sameBytes, `${signature}=`]
      for (const spelling of spellings) {
        assert.ok(Buffer.from(spelling, 'base64url').equals(Buffer.from(signature, 'base64url')), spelling)
        assertResponse(await readWith(`${header}.${claims}.${spelling}`), 401, 'Invalid token', null)
      }
    })

    it('§5.4: two Authorization headers are no "token string itself": 401 Invalid token', async () => {
      const { id } = await session.create()
      for (const pair of [
        [session.token, session.token],
        [session.token, 'x'],
        ['x', session.token],
      ]) {
        const headers = pair.map((token) => `Authorization: ${token}`)
        const reply = await exchange(target, request(target, 'GET', `/book/${id}`, headers))
        assertResponse(reply, 401, 'Invalid token', null)
      }
    })
  })
}
