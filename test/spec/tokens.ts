import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import type { Reply, Target } from './client.ts'

const HMAC = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const
export type HmacAlgorithm = keyof typeof HMAC

/** Header or claims of a token: a value, or JSON text as it is. */
type Part = object | string

/** Makes a token with a header that fits, or with any other. */
export function signHmac(secret: string, claims: Part, alg: HmacAlgorithm = 'HS256', header?: Part): string {
  const signed = `${encode(header ?? { alg, typ: 'JWT' })}.${encode(claims)}`
  return `${signed}.${createHmac(HMAC[alg], secret).update(signed).digest('base64url')}`
}

/** A token that is signed with RS256 (RFC 7518 §3) and a new key. */
export function signRsa(claims: Part): string {
  const signed = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`
}

export function encode(part: Part): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')
}

/** Header, claims and signature of a token, still encoded. */
export function split(token: string): [header: string, claims: string, signature: string] {
  const [header = '', claims = '', signature = '', ...rest] = token.split('.')
  if (signature === '' || rest.length > 0) throw new Error(`not a signed token: ${token}`)
  return [header, claims, signature]
}

export function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString())
}

/** The service's clock as its response shows it, or else ours: Unix time in whole seconds. */
export function serverTime(reply: Reply): number {
  const date = Date.parse(reply.headers.get('date') ?? '')
  return Math.floor((Number.isNaN(date) ? Date.now() : date) / 1000)
}

/** An expiry (or any other time) far enough from now to make no difference to clocks, in seconds. */
export function inOneMinute(): number {
  return Math.floor(Date.now() / 1000) + 60
}

/** Options of a test that makes tokens of its own. */
export function needsSecret(target: Target): { skip: string | false } {
  return { skip: target.secret === undefined && 'the token signing secret was not given (--secret)' }
}
