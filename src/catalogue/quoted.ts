/** UTF-16 code units of a text that a message quotes. */
const MAX_QUOTED = 40

/** Characters that would change how a terminal or a page shows the message. JSON escapes the others itself. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** A value in a message: as JSON in one line, shortened. Code units that are no character are shown as U+FFFD. */
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
