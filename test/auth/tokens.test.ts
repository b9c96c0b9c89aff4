import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { assertFailure, head, RawConnection, type RawResponse } from '../support/raw-socket.ts'
import { compact, EXP, expiringAt, hmacToken } from '../support/tokens.ts'
import { useService } from '../support/use-service.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PUBLIC_KEY = publicKey.export({ type: 'spki', format: 'pem' }).toString()

const withHeader = (more: object, secret?: string) =>
  hmacToken({ exp: EXP }, { header: { alg: 'HS256', ...more }, ...(secret === undefined ? {} : { secret }) })

const UNSIGNED = `${compact('{"alg":"RS256","typ":"JWT"}')}.${expiringAt(EXP).split('.')[1]}`
const SIGNED = `${UNSIGNED}.${sign('sha256', Buffer.from(UNSIGNED), privateKey).toString('base64url')}`

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

// What else makes a token bad: test/spec and auth.test.ts.
describe('a forged token is 401, and nothing tells which check failed', () => {
  for (const [name, token] of Object.entries({
    RS256: SIGNED,
    expired: expiringAt(1),
    'a kid with a path to an empty file': withHeader({ kid: '../../../../dev/null' }, ''),
    'jku and x5u': withHeader({ jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' }, 'mine'),
    'claims as deep as the header block allows': hmacToken(`{"exp":${'['.repeat(9000)}`),
  }))
    it(name, async () => {
      const [expected, told] = [await readWith('Authorization: x'), await readWith(`Authorization: ${token}`)]
      assertFailure(told, 401, 'Invalid token')
      assert.deepEqual(whatItTells(told), whatItTells(expected))
    })

  it('but a token that is signed with the secret is good, whatever path its kid has', async () => {
    assert.equal((await readWith(`Authorization: ${withHeader({ kid: '/etc/passwd' })}`)).status, 200)
  })
})

describe('where the secret is the text of a public key', () => {
  const confused = useService(undefined, { SECRET_TOKEN: PUBLIC_KEY })

  it('a signature of the private key is 401, as is an HMAC that claims to be one', async () => {
    const hmac = createHmac('sha256', PUBLIC_KEY).update(UNSIGNED).digest('base64url')
    for (const authorization of [SIGNED, `${UNSIGNED}.${hmac}`])
      assert.equal((await fetch(`${confused.url}/books`, { headers: { authorization } })).status, 401)
  })
})

it('after all this the log has no failure, and no token', () => {
  assert.doesNotMatch(service.output(), /"level":[456]0|eyJ/)
})
