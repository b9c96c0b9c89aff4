import { createHash } from 'node:crypto'

/**
 * A digest of what a function makes of 3000 texts, which are put together at random, but in the same way each time.
 * @param parts of the texts, some of which repeat a part many times.
 */
export function digestOfTexts(parts: readonly string[], make: (text: string) => unknown): string {
  const hash = createHash('sha256')
  let random = 1
  const below = (limit: number) => {
    random = (random * 48_271) % 2_147_483_647
    return random % limit
  }
  for (let i = 0; i < 3000; i++) {
    const some = Array.from({ length: below(20) }, () => parts[below(parts.length)])
    const repeated = parts[below(parts.length)]?.repeat(below(10) === 0 ? below(200) : 1)
    hash.update(JSON.stringify(make([...some, repeated, ...some.slice(5)].join(''))))
  }
  return hash.digest('base64url')
}
