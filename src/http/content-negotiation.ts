import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Chooses a media type (RFC 9110 §12.5.1) or a content coding (§12.5.3).
 * @param accept the value of the Accept or Accept-Encoding field, if there is one.
 * @param offered without parameters, the preferred one first.
 * @returns the one with the highest quality for the client, or the preferred one if it accepts none.
 */
export function negotiate<Type extends string>(
  accept: string | undefined,
  offered: readonly [Type, ...Type[]],
): Type {
  const [best] = offered
  if (accept === undefined) return best
  const ranges = accept.split(',').map(parseRange)
  let chosen = best
  let highest = 0
  for (const type of offered) {
    const quality = qualityOf(type, ranges)
    if (quality > highest) {
      chosen = type
      highest = quality
    }
  }
  return chosen
}

interface MediaRange {
  readonly type: string
  readonly quality: number
}

/** Ignores all parameters but the weight (RFC 9110 §12.4.2). A malformed weight counts as 0. */
function parseRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  if (weight === undefined) return { type, quality: 1 }
  return { type, quality: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0 }
}

/** @returns the quality of the most specific range that matches, or 0. */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  for (const range of [type, type.replace(/\/.*/, '/*'), '*/*']) {
    const found = ranges.find((each) => each.type === range)
    if (found !== undefined) return found.quality
  }
  return 0
}

/** @param offered the preferred one first. */
export function negotiateCoding<Coding extends string>(
  { headers }: FastifyRequest,
  offered: readonly [Coding, ...Coding[]],
): Coding {
  const accepted = headers['accept-encoding']
  return negotiate(typeof accepted === 'string' ? accepted : undefined, offered)
}

/** Adds field names to Vary, and keeps those that are set already. */
export function addVary(reply: FastifyReply, name: string): void {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? name : `${others}, ${name}`)
}
