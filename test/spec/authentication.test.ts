import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, type Book, call, type Reply, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { NOVEL, useSession } from './session.ts'
import {
  decode,
  encode,
  inOneMinute,
  needsSecret,
  SIGNED_OTHERWISE,
  signHmac,
  split,
  unsigned,
} from './tokens.ts'

/** The endpoints that need a token, with a request that succeeds. */
const PROTECTED = [
  { method: 'POST', path: () => '/book', json: NOVEL, status: 201, message: 'Book created successfully' },
  { method: 'GET', path: () => '/books', status: 200, message: 'Books retrieved successfully' },
  { method: 'GET', path: (id: number) => `/book/${id}`, status: 200, message: 'Book retrieved successfully' },
  {
    method: 'PUT',
    path: (id: number) => `/book/${id}`,
    json: { year: 1970 },
    status: 200,
    message: 'Book updated successfully',
  },
  {
    method: 'DELETE',
    path: (id: number) => `/book/${id}`,
    status: 200,
    message: 'Book deleted successfully',
  },
]

const INVALID =
  '§5.5: "token cannot be parsed, has a bad signature, is expired, or uses a signing method that is not HMAC-based" is 401 Invalid token'

/** Replaces one character by another whose highest bits differ, so that the bytes it stands for differ too. */
function changeAt(text: string, index: number): string {
  const at = index < 0 ? text.length + index : index
  return text.slice(0, at) + (text[at] === 'A' ? 'g' : 'A') + text.slice(at + 1)
}

for (const target of targets()) {
  describe(`authentication (${target.name})`, () => {
    const session = useSession(target)

    /** Reads a book with the token. */
    async function readWith(token: string): Promise<Reply> {
      const { id } = await session.create()
      return call(target, 'GET', `/book/${id}`, { token })
    }

    for (const { method, path, json, status, message } of PROTECTED) {
      const endpoint = `${method} ${path(1)}`
      const options = json === undefined ? {} : { json }

      it(`§5.5: "\`Authorization\` header missing or empty" is 401 Authorization token required: ${endpoint}`, async () => {
        const book = await session.create()
        const missing = await call(target, method, path(book.id), options)
        assertResponse(missing, 401, 'Authorization token required', null)
        for (const header of ['Authorization:', 'Authorization: ', 'Authorization: \t ']) {
          const bytes = request(target, method, path(book.id), [header], json && JSON.stringify(json))
          assertResponse(await exchange(target, bytes), 401, 'Authorization token required', null)
        }
        await session.assertStored(book)
      })

      it(`${INVALID}: ${endpoint}`, async () => {
        const book = await session.create()
        const token = signHmac('not the secret', { exp: inOneMinute() })
        const reply = await call(target, method, path(book.id), { ...options, token })
        assertResponse(reply, 401, 'Invalid token', null)
        await session.assertStored(book)
      })

      it(`§5.6: "any valid token may use every protected endpoint": ${endpoint}`, async () => {
        const { id } = await session.create()
        assertResponse(await session.call(method, path(id), options), status, message)
      })

      it(`§5.6: "No further permission levels exist": ${endpoint}`, needsSecret(target), async () => {
        const { id } = await session.create()
        const token = signHmac(target.secret ?? '', { exp: inOneMinute(), role: 'none', scope: '' })
        assertResponse(await session.call(method, path(id), { ...options, token }), status, message)
      })

      if (path(1) !== path(2)) {
        it(`§5.5: authentication comes before existence: ${endpoint}`, async () => {
          const missing = path(await session.missingId())
          assertResponse(await call(target, method, missing, options), 401, 'Authorization token required')
          const reply = await call(target, method, missing, { ...options, token: 'x' })
          assertResponse(reply, 401, 'Invalid token')
        })
      }
    }

    it('§5.4: "The header value is the token string itself, with no scheme prefix."', async () => {
      assertResponse(await readWith(session.token), 200, 'Book retrieved successfully')
      for (const prefix of ['Bearer ', 'bearer ', 'Bearer', 'JWT ', 'Token ', 'Basic ']) {
        const reply = await readWith(prefix + session.token)
        assertResponse(reply, 401, 'Invalid token', null)
      }
    })

    for (const token of [
      'x',
      'Bearer',
      '.',
      '..',
      '...',
      'a.b',
      'a.b.c',
      'a.b.c.d',
      'null',
      '{}',
      '"x"',
      'é',
    ]) {
      it(`${INVALID}: ${token}`, async () => {
        assertResponse(await readWith(token), 401, 'Invalid token', null)
      })
    }

    const spoilt: Record<string, (header: string, claims: string, signature: string) => string> = {
      'no signature': (header, claims) => `${header}.${claims}`,
      'an empty signature': (header, claims) => `${header}.${claims}.`,
      'the signature alone': (_header, _claims, signature) => signature,
      'the first character of the signature': (h, c, signature) => `${h}.${c}.${changeAt(signature, 0)}`,
      'the last character of the signature': (h, c, signature) => `${h}.${c}.${changeAt(signature, -1)}`,
      'the last character of the signature missing': (h, c, signature) =>
        `${h}.${c}.${signature.slice(0, -1)}`,
      'a later expiry': (h, c, signature) => {
        return `${h}.${encode({ exp: Number(decode(c).exp) + 1 })}.${signature}`
      },
      'another header': (h, c, signature) => `${encode({ ...decode(h), kid: '1' })}.${c}.${signature}`,
      'HS512 in the header': (h, c, signature) =>
        `${encode({ ...decode(h), alg: 'HS512' })}.${c}.${signature}`,
      'header and claims exchanged': (header, claims, signature) => `${claims}.${header}.${signature}`,
      'a fourth part': (header, claims, signature) => `${header}.${claims}.${signature}.${signature}`,
      'the token twice': (...parts) => `${parts.join('.')} ${parts.join('.')}`,
    }
    for (const [name, spoil] of Object.entries(spoilt)) {
      it(`${INVALID}: a token of the service with ${name}`, async () => {
        assert.notEqual(spoil(...split(session.token)), session.token)
        assertResponse(await readWith(spoil(...split(session.token))), 401, 'Invalid token', null)
      })
    }

    for (const alg of ['none', 'None', 'NONE', 'nOnE', '', 'HS256']) {
      it(`${INVALID}: unsigned, with alg "${alg}"`, async () => {
        assertResponse(await readWith(unsigned(alg, { exp: inOneMinute() })), 401, 'Invalid token', null)
      })
    }

    for (const [alg, signOtherwise] of Object.entries(SIGNED_OTHERWISE)) {
      it(`${INVALID}: ${alg}`, async () => {
        assertResponse(await readWith(signOtherwise({ exp: inOneMinute() })), 401, 'Invalid token', null)
      })
    }

    for (const secret of ['', 'not the secret']) {
      it(`${INVALID}: signed with "${secret}"`, async () => {
        assertResponse(await readWith(signHmac(secret, { exp: inOneMinute() })), 401, 'Invalid token', null)
      })
    }

    it(`${INVALID}: signed with the key that the header brings along`, async () => {
      const jwk = { kty: 'oct', k: encode('own key') }
      const token = signHmac('own key', { exp: inOneMinute() }, 'HS256', { alg: 'HS256', jwk })
      assertResponse(await readWith(token), 401, 'Invalid token', null)
    })

    const signedWithSecret: Record<string, (secret: string) => string> = {
      'expired a minute ago': (secret) => signHmac(secret, { exp: inOneMinute() - 120 }),
      'expired in 1970': (secret) => signHmac(secret, { exp: 1 }),
      'RS256 in the header of an HMAC': (secret) =>
        signHmac(secret, { exp: inOneMinute() }, 'HS256', { alg: 'RS256' }),
      'none in the header of an HMAC': (secret) =>
        signHmac(secret, { exp: inOneMinute() }, 'HS256', { alg: 'none' }),
      'HS512 in the header of an HS256': (secret) =>
        signHmac(secret, { exp: inOneMinute() }, 'HS256', { alg: 'HS512' }),
      'no alg': (secret) => signHmac(secret, { exp: inOneMinute() }, 'HS256', { typ: 'JWT' }),
      'claims that are no JSON': (secret) => signHmac(secret, `{"exp":${inOneMinute()}`),
      'claims that are no object': (secret) => signHmac(secret, '"exp"'),
    }
    for (const [name, make] of Object.entries(signedWithSecret)) {
      it(`${INVALID}: signed with the secret, ${name}`, needsSecret(target), async () => {
        assertResponse(await readWith(make(target.secret ?? '')), 401, 'Invalid token', null)
      })
    }

    it('§5.5: "token valid": one signed with the secret proceeds', needsSecret(target), async () => {
      const { id } = await session.create()
      const token = signHmac(target.secret ?? '', { exp: inOneMinute() })
      const reply = await call<Book>(target, 'GET', `/book/${id}`, { token })
      assertResponse(reply, 200, 'Book retrieved successfully', { id, ...NOVEL })
    })
  })
}
