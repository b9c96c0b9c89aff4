import { createHmac } from 'node:crypto'

/**
 * A token as the contract has it: a JWT signed with HS256 that carries its expiry only.
 * @param expiry Unix time in seconds.
 */
export function signToken(secret: string, expiry: number): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ exp: expiry })}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
