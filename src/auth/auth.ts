import { createHash, createSecretKey, timingSafeEqual } from 'node:crypto'
import { SignJWT } from 'jose/jwt/sign'
import { jwtVerify } from 'jose/jwt/verify'
import { objectSchema, partialSchema } from '../catalogue/json-schema.ts'

/** Token lifetime in seconds (§8). */
const TOKEN_LIFETIME = 15 * 60

/** The contract accepts every HMAC-based method (§5.5) and issues HS256 (§5.3). */
const ACCEPTED_ALGORITHMS = ['HS256', 'HS384', 'HS512']

/** Bounds of the memory spent on verified tokens: at most about half a megabyte. */
const REMEMBERED_TOKENS = 1000
const REMEMBERED_TOKEN_LENGTH = 512

/** A login request (§2). */
export const Login = objectSchema<Account>(
  { username: { type: 'string' }, password: { type: 'string' } },
  { $id: 'Login', examples: [{ username: 'admin', password: 'correct horse battery staple' }] },
)

/** What is read as a login request. A field that is absent matches no account. */
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

export interface Account {
  readonly username: string
  readonly password: string
}

/** The one account and its tokens (§5). */
export class Auth {
  readonly #username: Buffer
  readonly #password: Buffer
  readonly #key: ReturnType<typeof createSecretKey>
  /** Valid tokens, oldest first, with their expiry (Unix time in seconds). */
  readonly #remembered = new Map<string, number>()
  /** The token that was issued last. */
  #issued: { readonly expiry: number; readonly token: Promise<string> } | undefined

  /** @param secret signs the tokens. Its UTF-8 bytes, at least one, are the HMAC key. */
  constructor({ username, password }: Account, secret: string) {
    this.#username = digestOf(username)
    this.#password = digestOf(password)
    this.#key = createSecretKey(secret, 'utf8')
  }

  /** Whether the login matches the account. Comparing digests takes a time that reveals nothing about either text. */
  matches({ username = '', password = '' }: LoginFields): boolean {
    const isUsername = timingSafeEqual(digestOf(username), this.#username)
    const isPassword = timingSafeEqual(digestOf(password), this.#password)
    return isUsername && isPassword
  }

  /**
   * Makes a token that carries only its expiry (§5.3).
   * @throws the error of the signing library.
   */
  issue(): Promise<string> {
    const expiry = Math.floor(Date.now() / 1000) + TOKEN_LIFETIME
    // Tokens of the same second are equal. Signing takes longer than the rest of a login.
    if (this.#issued?.expiry !== expiry) this.#issued = { expiry, token: this.#sign(expiry) }
    return this.#issued.token
  }

  #sign(expiry: number): Promise<string> {
    return new SignJWT({ exp: expiry }).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(this.#key)
  }

  /** Whether the token is valid now (§5.5). Answers at once for a token that it has seen before. */
  verify(token: string): boolean | Promise<boolean> {
    const expiry = this.#remembered.get(token)
    if (expiry === undefined) return this.#verifySignature(token)
    if (isAhead(expiry)) return true
    this.#remembered.delete(token)
    return false
  }

  async #verifySignature(token: string): Promise<boolean> {
    if (!hasCanonicalSignature(token)) return false
    try {
      const { payload } = await jwtVerify(token, this.#key, { algorithms: ACCEPTED_ALGORITHMS })
      // 1e400 in JSON becomes Infinity, which would never expire. jose compares whole seconds.
      if (payload.exp === undefined || !Number.isFinite(payload.exp) || !isAhead(payload.exp)) return false
      this.#remember(token, payload.exp)
      return true
    } catch {
      return false
    }
  }

  #remember(token: string, expiry: number): void {
    if (token.length > REMEMBERED_TOKEN_LENGTH) return
    if (this.#remembered.size >= REMEMBERED_TOKENS) {
      const [oldest] = this.#remembered.keys()
      if (oldest !== undefined) this.#remembered.delete(oldest)
    }
    this.#remembered.set(token, expiry)
  }
}

/** Whether a Unix time in seconds, perhaps with a fraction, is in the future. */
function isAhead(time: number): boolean {
  return Date.now() < time * 1000
}

/** UTF-16 keeps lone surrogates distinct. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text, 'utf16le').digest()
}

/**
 * Base64url decoders ignore the spare bits of the last character, so several spellings of one signature would pass.
 * Only the spelling of an encoder is accepted (RFC 4648 §3.5).
 */
function hasCanonicalSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}
