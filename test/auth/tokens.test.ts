import assert from 'node:assert/strict'
import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { assertFailure, head, RawConnection, type RawResponse, refusal } from '../support/raw-socket.ts'
import { compact, EXP, expiringAt, hmacToken } from '../support/tokens.ts'
import { useService } from '../support/use-service.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PUBLIC_KEY = publicKey.export({ type: 'spki', format: 'pem' }).toString()
const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

const now = () => Math.floor(Date.now() / 1000)

/** The parts of a token that is signed with the secret of the service. */
const [HEADER = '', PAYLOAD = '', SIGNATURE = ''] = expiringAt(EXP).split('.')

const unsigned = (alg: string) => `${compact(JSON.stringify({ alg, typ: 'JWT' }))}.${PAYLOAD}`

function signed(alg: string, key: typeof privateKey): string {
  const text = unsigned(alg)
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

/** Replaces the first character of a part by another. */
const tamper = (part: string) => (part.startsWith('A') ? 'B' : 'A') + part.slice(1)

const withHeader = (more: object, secret?: string) =>
  hmacToken({ exp: EXP }, { header: { alg: 'HS256', ...more }, ...(secret === undefined ? {} : { secret }) })

const FORGED: Record<string, () => string> = {
  ...Object.fromEntries(
    ['none', 'None', 'NONE', 'nOnE', 'noNe'].flatMap((alg): [string, () => string][] => [
      [`alg ${alg}, without a signature`, () => `${unsigned(alg)}.`],
      [`alg ${alg}, with that of another token`, () => `${unsigned(alg)}.${SIGNATURE}`],
      [`alg ${alg}, signed with the secret`, () => hmacToken({ exp: EXP }, { header: { alg } })],
    ]),
  ),
  RS256: () => signed('RS256', privateKey),
  ES256: () => signed('ES256', EC),
  'RS256 in the header of an HMAC': () => withHeader({ alg: 'RS256' }),
  'an HMAC whose key is a public key': () => hmacToken({ exp: EXP }, { secret: PUBLIC_KEY }),
  'an HMAC whose key is in the header': () => withHeader({ jwk: { kty: 'oct', k: compact('mine') } }, 'mine'),
  'a tampered header': () => `${tamper(HEADER)}.${PAYLOAD}.${SIGNATURE}`,
  'a tampered payload': () => `${HEADER}.${tamper(PAYLOAD)}.${SIGNATURE}`,
  'a later expiry': () => `${HEADER}.${compact(`{"exp":${EXP + 1}}`)}.${SIGNATURE}`,
  'a tampered signature': () => `${HEADER}.${PAYLOAD}.${tamper(SIGNATURE)}`,
  'another secret': () => hmacToken({ exp: EXP }, { secret: 'not the secret' }),
  'an empty secret': () => hmacToken({ exp: EXP }, { secret: '' }),
  'expired a second ago': () => expiringAt(now() - 1),
  'no exp': () => hmacToken('{}'),
  'exp as a string': () => hmacToken(`{"exp":"${EXP}"}`),
  'exp negative': () => hmacToken('{"exp":-1}'),
  'exp 1e400': () => hmacToken('{"exp":1e400}'),
  'nbf ahead': () => hmacToken({ exp: EXP, nbf: now() + 60 }),
  'a critical extension': () => withHeader({ crit: ['x'], x: 1 }),
  'a critical extension that is known, b64': () => withHeader({ crit: ['b64'], b64: false }),
  'an empty crit': () => withHeader({ crit: [] }),
  'kid with a path to an empty file': () => withHeader({ kid: '../../../../dev/null' }, ''),
  'kid with SQL': () => withHeader({ kid: "x' UNION SELECT 'mine" }, 'mine'),
  'jku and x5u': () => withHeader({ jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' }, 'mine'),
  'two of them with a comma': () => `${expiringAt(EXP)}, ${expiringAt(EXP)}`,
  'claims as deep as the header block allows': () => hmacToken(`{"exp":${'['.repeat(9000)}`),
}

const service = useService((started) => started.createBook())

async function readWith(...fields: string[]): Promise<RawResponse> {
  using connection = await RawConnection.open(service.url)
  await connection.send(head('GET /book/1', ...fields))
  return await connection.response()
}

/** Everything of a response but its time and its id. */
function whatItTells({ status, headers, body }: RawResponse): unknown {
  const told = [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
  return { status, body, told }
}

describe('a forged token is 401, and nothing tells which check failed', () => {
  for (const [name, forge] of Object.entries(FORGED)) {
    it(name, async () => {
      const response = await readWith(`Authorization: ${forge()}`)
      assertFailure(response, 401, 'Invalid token')
      assert.deepEqual(whatItTells(response), whatItTells(await readWith('Authorization: x')))
    })
  }

  it('two Authorization headers, although both are good', async () => {
    const field = `Authorization: ${service.token}`
    assertFailure(await readWith(field, field), 401, 'Invalid token')
  })

  it('but a token that is signed with the secret is good, whatever path its kid has', async () => {
    assert.equal((await readWith(`Authorization: ${withHeader({ kid: '/etc/passwd' })}`)).status, 200)
  })
})

it('a token of 1 MB is 431, and the connection closed', async () => {
  const bytes = head('GET /book/1', `Authorization: ${'x'.repeat(1024 * 1024)}`)
  using connection = await RawConnection.open(service.url)
  void connection.send(bytes)
  assertFailure(await connection.response(), 431, 'Request header fields too large')
  assert.equal(await connection.rest(), '')
  const small = head('GET /book/1', `Authorization: ${'x'.repeat(17 * 1024)}`)
  assertFailure(await refusal(service.url, small), 431, 'Request header fields too large')
})

describe('algorithm confusion, where the secret is the text of a public key', () => {
  const confused = useService(undefined, { SECRET_TOKEN: PUBLIC_KEY })

  it('a signature of the private key is 401', async () => {
    const text = unsigned('RS256')
    const signature = sign('sha256', Buffer.from(text), privateKey)
    assert.ok(createPublicKey(PUBLIC_KEY).asymmetricKeyType === 'rsa')
    const hmac = createHmac('sha256', PUBLIC_KEY).update(text).digest('base64url')
    for (const token of [`${text}.${signature.toString('base64url')}`, `${text}.${hmac}`]) {
      const response = await fetch(`${confused.url}/books`, { headers: { authorization: token } })
      assert.equal(response.status, 401)
    }
  })
})

it('after all this the log has no failure, and no token', () => {
  assert.doesNotMatch(service.output(), /"level":[456]0|eyJ/)
})
