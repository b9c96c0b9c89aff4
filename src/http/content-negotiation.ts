/**
 * Chooses how to answer a request (RFC 9110 §12.5.1).
 * @param accept the Accept header field, if there is one.
 * @param offered media types without parameters, the best first, which also answers what accepts none of them.
 */
export function negotiate<Type extends string>(
  accept: string | undefined,
  offered: readonly [Type, ...Type[]],
): Type {
  const [best] = offered
  if (accept === undefined) return best
  const ranges = accept.split(',').map(parseRange)
  let [chosen, highest] = [best, 0]
  for (const type of offered) {
    const quality = qualityOf(type, ranges)
    if (quality > highest) [chosen, highest] = [type, quality]
  }
  return chosen
}

interface Range {
  readonly type: string
  readonly quality: number
}

/** Of the parameters only the weight matters (§12.4.2); one that is malformed makes the range count for nothing. */
function parseRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  if (weight === undefined) return { type, quality: 1 }
  return { type, quality: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0 }
}

/** That of the most specific range. */
function qualityOf(type: string, ranges: readonly Range[]): number {
  for (const range of [type, type.replace(/\/.*/, '/*'), '*/*']) {
    const found = ranges.find((each) => each.type === range)
    if (found !== undefined) return found.quality
  }
  return 0
}
