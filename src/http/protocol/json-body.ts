import { isUtf8 } from 'node:buffer'

/**
 * Brackets, braces and commas that a body may have outside its texts; a book needs three. A megabyte of them would keep
 * everybody waiting for a tenth of a second, while one of text takes a millisecond.
 */
const MAX_SEPARATORS = 16 * 1024

const [QUOTE, BACKSLASH, BRACKET, BRACE, COMMA] = [0x22, 0x5c, 0x5b, 0x7b, 0x2c]

/** @returns the JSON value, or undefined if the bytes are not JSON in UTF-8 (RFC 8259 §8.1), or of too many values. */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body) || isIntricate(body)) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function isIntricate(json: Buffer): boolean {
  if (json.length <= MAX_SEPARATORS) return false
  let count = 0
  let isInText = false
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]
    if (byte === QUOTE) isInText = !isInText
    else if (isInText) i += byte === BACKSLASH ? 1 : 0
    else if (byte === BRACKET || byte === BRACE || byte === COMMA) count++
  }
  return count > MAX_SEPARATORS
}
