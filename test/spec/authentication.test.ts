import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, targets } from './client.ts'
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

const REQUIRED = 'Authorization token required'
const INVALID =
  '§5.5: "token cannot be parsed, has a bad signature, is expired, or uses a signing method that is not HMAC-based" is 401 Invalid token'

/** Replaces one character by another whose highest bits differ, so that the bytes it stands for differ too. */
function changeAt(text: string, index: number): string {
  const at = index < 0 ? text.length + index : index
  return text.slice(0, at) + (text[at] === 'A' ? 'g' : 'A') + text.slice(at + 1)
}

/** What is made of a token of the service. */
const SPOILT: Record<string, (header: string, claims: string, signature: string) => string> = {
  'Bearer before it': (...parts) => `Bearer ${parts.join('.')}`,
  'Bearer before it, without a blank': (...parts) => `Bearer${parts.join('.')}`,
  'Basic before it': (...parts) => `Basic ${parts.join('.')}`,
  'no signature': (header, claims) => `${header}.${claims}`,
  'an empty signature': (header, claims) => `${header}.${claims}.`,
  'the first character of the signature changed': (h, c, signature) => `${h}.${c}.${changeAt(signature, 0)}`,
  'the last character of the signature changed': (h, c, signature) => `${h}.${c}.${changeAt(signature, -1)}`,
  'the last character of the signature missing': (h, c, signature) => `${h}.${c}.${signature.slice(0, -1)}`,
  'a later expiry': (h, c, signature) => `${h}.${encode({ exp: Number(decode(c).exp) + 1 })}.${signature}`,
  'another header': (h, c, signature) => `${encode({ ...decode(h), kid: '1' })}.${c}.${signature}`,
  'HS512 in the header': (h, c, signature) => `${encode({ ...decode(h), alg: 'HS512' })}.${c}.${signature}`,
  'header and claims exchanged': (header, claims, signature) => `${claims}.${header}.${signature}`,
  'a fourth part': (header, claims, signature) => `${header}.${claims}.${signature}.${signature}`,
  'itself a second time': (...parts) => `${parts.join('.')} ${parts.join('.')}`,
}

/** Tokens that are made without the secret. */
const FORGED: Record<string, () => string> = {
  ...Object.fromEntries(
    ['x', '.', '..', 'a.b.c', 'a.b.c.d', 'null', '{}', 'é'].map((text) => [text, () => text]),
  ),
  ...Object.fromEntries(
    ['none', 'None', '', 'HS256'].map((alg) => [
      `unsigned, with alg "${alg}"`,
      () => unsigned(alg, { exp: inOneMinute() }),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(SIGNED_OTHERWISE).map(([alg, make]) => [alg, () => make({ exp: inOneMinute() })]),
  ),
  'signed with the empty text': () => signHmac('', { exp: inOneMinute() }),
  'signed with another secret': () => signHmac('not the secret', { exp: inOneMinute() }),
  'signed with the key that the header brings along': () =>
    signHmac('own key', { exp: inOneMinute() }, 'HS256', {
      alg: 'HS256',
      jwk: { kty: 'oct', k: encode('own key') },
    }),
}

const SIGNED_WITH_SECRET: Record<string, (secret: string) => string> = {
  'expired a minute ago': (secret) => signHmac(secret, { exp: inOneMinute() - 120 }),
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

for (const target of targets())
  describe(`authentication (${target.name})`, () => {
    const session = useSession(target)

    async function assertInvalid(token: string): Promise<void> {
      const { id } = await session.create()
      await session.expect('GET', `/book/${id}`, { token }, 401, 'Invalid token')
    }

    for (const { method, path, json, status, message } of PROTECTED) {
      const endpoint = `${method} ${path(1)}`
      const options = json === undefined ? {} : { json }

      it(`§5.5: "\`Authorization\` header missing or empty" is 401 Authorization token required: ${endpoint}`, async () => {
        const book = await session.create()
        await session.expect(method, path(book.id), { ...options, token: undefined }, 401, REQUIRED)
        for (const header of ['Authorization:', 'Authorization: \t ']) {
          const bytes = request(target, method, path(book.id), [header], json && JSON.stringify(json))
          assertResponse(await exchange(target, bytes), 401, REQUIRED)
        }
        await session.assertStored(book)
      })

      it(`${INVALID}, before it is looked whether the book exists, and nothing is done: ${endpoint}`, async () => {
        const book = await session.create()
        const token = signHmac('not the secret', { exp: inOneMinute() })
        await session.expect(method, path(book.id), { ...options, token }, 401, 'Invalid token')
        await session.assertStored(book)
        const missing = path(await session.missingId())
        await session.expect(method, missing, { ...options, token }, 401, 'Invalid token')
        await session.expect(method, missing, { ...options, token: undefined }, 401, REQUIRED)
      })

      it(`§5.6: "any valid token may use every protected endpoint": ${endpoint}`, async () => {
        await session.expect(method, path((await session.create()).id), options, status, message)
      })

      it(
        `§5.6: "No further permission levels exist", §5.5: "token valid": ${endpoint}`,
        needsSecret(target),
        async () => {
          const { id } = await session.create()
          const token = signHmac(target.secret ?? '', { exp: inOneMinute(), role: 'none', scope: '' })
          await session.expect(method, path(id), { ...options, token }, status, message)
        },
      )
    }

    for (const [name, spoil] of Object.entries(SPOILT))
      it(`${INVALID}, §5.4: "The header value is the token string itself, with no scheme prefix.": a token of the service with ${name}`, async () => {
        const spoilt = spoil(...split(session.token))
        assert.notEqual(spoilt, session.token)
        await assertInvalid(spoilt)
      })

    for (const [name, make] of Object.entries(FORGED)) it(`${INVALID}: ${name}`, () => assertInvalid(make()))

    for (const [name, make] of Object.entries(SIGNED_WITH_SECRET))
      it(`${INVALID}: signed with the secret, ${name}`, needsSecret(target), () =>
        assertInvalid(make(target.secret ?? '')),
      )
  })
