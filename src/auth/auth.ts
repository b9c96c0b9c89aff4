import { createHash, createSecretKey, timingSafeEqual } from 'node:crypto'
import { SignJWT } from 'jose/jwt/sign'
import { jwtVerify } from 'jose/jwt/verify'
import { LRUCache } from 'lru-cache'
import { objectSchema, partialSchema } from '../catalogue/json-schema.ts'

/** How long a token of a login is valid, in seconds (§8). */
const TOKEN_LIFETIME = 15 * 60

/** The contract accepts every HMAC algorithm (§5.5), although tokens are issued with HS256 alone (§5.3). */
const ACCEPTED_ALGORITHMS = ['HS256', 'HS384', 'HS512']

/** Limits of the cache of verified tokens, which takes at most about half a megabyte. */
const REMEMBERED_TOKENS = 1000
const REMEMBERED_TOKEN_LENGTH = 512

/** A login request (§2). */
export const Login = objectSchema<Account>(
  { username: { type: 'string' }, password: { type: 'string' } },
  { $id: 'Login', examples: [{ username: 'admin', password: 'correct horse battery staple' }] },
)

/** The schema for parsing a login request. It accepts a missing field, which matches no account: 401 instead of 400. */
export const LoginFields = partialSchema<Account>(Login.properties)
export type LoginFields = Partial<Account>

/** The data of a successful login (§2). */
export const TokenData = objectSchema<{ token: string }>(
  {
    token: {
      type: 'string',
      description: 'Send it as it is, with no scheme prefix, in the Authorization header.',
    },
  },
  {
    $id: 'Token',
    examples: [{ token: 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjE3OTUyNDgwMDB9.c2lnbmF0dXJl' }],
  },
)

interface Account {
  readonly username: string
  readonly password: string
}

/** Checks logins to the only account, and issues and verifies its tokens (§5). */
export class Auth {
  readonly #username: Buffer
  readonly #password: Buffer
  readonly #key: ReturnType<typeof createSecretKey>
  /** Verified tokens with their expiry (Unix time in seconds). */
  readonly #remembered = new LRUCache<string, number>({ max: REMEMBERED_TOKENS })
  #issued: { readonly expiry: number; readonly token: Promise<string> } | undefined

  /** @param secret must not be empty. Its UTF-8 bytes are the HMAC key. */
  constructor({ username, password }: Account, secret: string) {
    this.#username = digestOf(username)
    this.#password = digestOf(password)
    this.#key = createSecretKey(secret, 'utf8')
  }

  /** Compares digests in constant time, so the duration reveals nothing about either text. */
  matches({ username = '', password = '' }: LoginFields): boolean {
    const isUsername = timingSafeEqual(digestOf(username), this.#username)
    const isPassword = timingSafeEqual(digestOf(password), this.#password)
    return isUsername && isPassword
  }

  /**
   * @param lifetime in seconds.
   * @returns a token whose only claim is its expiry (§5.3). @throws the error of the signing library.
   */
  issue(lifetime = TOKEN_LIFETIME): Promise<string> {
    const expiry = Math.floor(Date.now() / 1000) + lifetime
    // Signing takes longer than the rest of a login, and all tokens of one second are equal.
    if (this.#issued?.expiry !== expiry) this.#issued = { expiry, token: this.#sign(expiry) }
    return this.#issued.token
  }

  #sign(expiry: number): Promise<string> {
    return new SignJWT({ exp: expiry }).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(this.#key)
  }

  /** Whether the token is valid now (§5.5). Synchronous for a token that was verified before. */
  verify(token: string): boolean | Promise<boolean> {
    const expiry = this.#remembered.get(token)
    return expiry === undefined ? this.#verifySignature(token) : isAhead(expiry)
  }

  async #verifySignature(token: string): Promise<boolean> {
    if (!hasCanonicalSignature(token)) return false
    try {
      const { payload } = await jwtVerify(token, this.#key, { algorithms: ACCEPTED_ALGORITHMS })
      // JSON.parse() reads 1e400 as Infinity, which would never expire. jose compares only whole seconds.
      if (payload.exp === undefined || !Number.isFinite(payload.exp) || !isAhead(payload.exp)) return false
      if (token.length <= REMEMBERED_TOKEN_LENGTH) this.#remembered.set(token, payload.exp)
      return true
    } catch {
      return false
    }
  }
}

/** @param time Unix time in seconds. It may have a fraction. */
function isAhead(time: number): boolean {
  return Date.now() < time * 1000
}

/** Hashes UTF-16, because UTF-8 would encode all lone surrogates alike. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text, 'utf16le').digest()
}

/**
 * Decoders of base64url ignore the unused bits of the last character, so several texts decode to one signature. Only
 * the text that an encoder writes is accepted (RFC 4648 §3.5), so that no altered token is valid.
 */
function hasCanonicalSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}
