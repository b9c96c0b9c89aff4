import { isUtf8 } from 'node:buffer'

/**
 * How many opening brackets, opening braces and commas a body may have outside its strings. A book needs three. Parsing
 * a megabyte of them would block the process for a tenth of a second; a megabyte of text takes a millisecond.
 */
const MAX_SEPARATORS = 16 * 1024

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACKET = 0x5b
const BRACE = 0x7b
const COMMA = 0x2c

/** @returns the value, or undefined if the body is not JSON in UTF-8 (RFC 8259 §8.1), or has too many values. */
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
