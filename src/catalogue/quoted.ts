/** In UTF-16 code units. */
const MAX_QUOTED = 40

/** Characters that could change how a terminal or a web page shows the message, beside those that JSON escapes. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** @returns a value for a message: shortened JSON on one line. A lone surrogate becomes U+FFFD. */
export function quoted(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  if (typeof value !== 'string') return String(value)
  const isLong = value.length > MAX_QUOTED
  const text = isLong ? `${value.slice(0, MAX_QUOTED)}…` : value
  return JSON.stringify(text.toWellFormed()).replace(
    INVISIBLE,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

/** @returns a text as one word of a POSIX shell. */
export const shellQuoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
