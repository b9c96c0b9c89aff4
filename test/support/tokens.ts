import { createHmac } from 'node:crypto'

import { SECRET } from './service.ts'

/** The time at which tests begin that set the clock, Unix time in seconds. */
export const NOW = 1_800_000_000

/** An expiry far ahead, Unix time in seconds. */
export const EXP = 4_000_000_000

/** Base64url, as the parts of a token are encoded. */
export const compact = (part: string | Buffer) => Buffer.from(part).toString('base64url')

/** JSON text is taken as it is, for what JSON.stringify would not write. */
const json = (value: object | string) => (typeof value === 'string' ? value : JSON.stringify(value))

/** A token made by hand, without the library that is tested. */
export function hmacToken(
  payload: object | string,
  { header = { alg: 'HS256', typ: 'JWT' } as object | string, hash = 'sha256', secret = SECRET } = {},
): string {
  const signed = `${compact(json(header))}.${compact(json(payload))}`
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`
}

/** A token that is good until then, Unix time in seconds. */
export const expiringAt = (exp: number) => hmacToken({ exp })
