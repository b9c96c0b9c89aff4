import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { quoted } from '../catalogue/quoted.ts'
import { ImportRefused } from './import-report.ts'

/** Bytes that are decoded at once. With small parts, fewer objects survive a collection of the young generation. */
const PART = 8 * 1024

/** Bytes at the start of a file by which its encoding is told. */
const START = 4

/**
 * Stands for bytes that are no character, as in PEP 383. No text has lone surrogates, so a field with one is refused,
 * and one in a column that is not used does no harm. There are two, because an escape of JSON before them may make a
 * pair with the first.
 */
const STRAY = '\udcff\udcff'

/** The same in an encoding that was named. */
const STRAY_IN_NAMED = '\udcfe\udcfe'

const STRAYS = new RegExp(`${STRAY}|${STRAY_IN_NAMED}`, 'g')

/** How files begin that are no text, one character for each byte, and what to do with them. */
const NO_TEXT = {
  'PK\x03\x04':
    'the file is a spreadsheet (.xlsx, .ods) or another ZIP archive, not text; save it as CSV in UTF-8',
  '\xd0\xcf\x11\xe0': 'the file is a spreadsheet of an old Excel (.xls), not text; save it as CSV in UTF-8',
  '\x1f\x8b': 'the file is compressed with gzip; unpack it first',
}

const REPLACEMENT = '\ufffd'

/** UTF-16 code units of a text that a message may quote before and after bytes that are no character. */
const [BEFORE_STRAY, AFTER_STRAY] = [20, 100]

/** Any character but those of ASCII. Half of STRAY is none. */
const NOT_ASCII = /[\x80-\udcfe\udd00-\uffff]/

/** Encodings that are told by the file itself. Each text in ASCII is in UTF-8 too. */
const TOLD = /^(?:utf-?(?:8|16)|(?:us-)?ascii)/

/**
 * @param label of an encoding, as browsers know them (WHATWG Encoding Standard).
 * @returns the name of the encoding, undefined if the file itself tells it.
 * @throws RangeError if there is no such encoding.
 */
export function encodingNamed(label: string): string | undefined {
  const { encoding } = new TextDecoder(label)
  return TOLD.test(label.trim().toLowerCase()) ? undefined : encoding
}

/**
 * The text of a file: UTF-8 with or without a byte order mark, or UTF-16, as some programs export it.
 * @param encoding of a file without a byte order mark, by the name that encodingNamed() gives it.
 * @throws ImportRefused for a file that is no text.
 */
export async function* decode(
  bytes: AsyncIterable<Uint8Array>,
  encoding: string | undefined,
): AsyncGenerator<string, void> {
  const decoder = new Decoder(encoding)
  for await (const part of parts(bytes)) {
    yield decoder.decode(part, false)
    // Without this, data that is already there would block the event loop.
    await setImmediate()
  }
  yield decoder.decode(Buffer.alloc(0), true)
}

/** @returns why a text with bytes that are no character cannot be stored; undefined if it has none. */
export function strayReason(text: unknown): string | undefined {
  const at = typeof text === 'string' ? text.search(STRAYS) : -1
  if (typeof text !== 'string' || at === -1) return undefined
  // A file in another encoding would hardly have characters that are right by chance.
  const advice = NOT_ASCII.test(text)
    ? 'correct this text'
    : 'the file seems to be in another encoding, such as Windows-1252 or ISO 8859-1; save it as UTF-8, or name its encoding'
  const reason = text.startsWith(STRAY, at)
    ? `is not in UTF-8; ${advice}`
    : 'is not in the encoding that was named; name the right one, or correct this text'
  const start = Math.max(0, at - BEFORE_STRAY)
  const shown = text.slice(start, at + AFTER_STRAY).replaceAll(STRAYS, REPLACEMENT)
  return `${quoted(start > 0 ? `…${shown}` : shown)} ${reason}`
}

async function* parts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  for await (const { buffer, byteOffset, length } of bytes) {
    const end = byteOffset + length
    for (let start = byteOffset; start < end; start += PART)
      yield Buffer.from(buffer, start, Math.min(PART, end - start))
  }
}

interface Encoding {
  /** Bytes of the byte order mark. */
  readonly mark: number
  /** How many bytes at the end are the beginning of a character. */
  unfinished(bytes: Buffer): number
  text(bytes: Buffer, isEnd: boolean): string
}

class Decoder {
  /** The encoding that was named. */
  readonly #name: string | undefined
  #encoding: Encoding | undefined
  /** The beginning of the file until its encoding is known, later the beginning of a character. */
  #rest: Buffer = Buffer.alloc(0)

  constructor(name: string | undefined) {
    this.#name = name
  }

  decode(part: Buffer, isEnd: boolean): string {
    let bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part])
    if (this.#encoding === undefined && (isEnd || bytes.length >= START)) {
      this.#encoding = encodingOf(bytes, this.#name)
      bytes = bytes.subarray(this.#encoding.mark)
    }
    const unfinished = isEnd ? 0 : (this.#encoding?.unfinished(bytes) ?? bytes.length)
    const end = bytes.length - unfinished
    this.#rest = bytes.subarray(end)
    return this.#encoding?.text(bytes.subarray(0, end), isEnd) ?? ''
  }
}

/**
 * UTF-16 has a byte order mark, or is told by its first character, which is in ASCII: a letter, a quote, a brace.
 * @throws ImportRefused for a file that is no text.
 */
function encodingOf(start: Buffer, name: string | undefined): Encoding {
  const characters = start.toString('latin1', 0, START)
  for (const [begin, reason] of Object.entries(NO_TEXT)) {
    if (characters.startsWith(begin)) throw new ImportRefused(reason)
  }
  const [first, second, third] = start
  if (first === 0xff && second === 0xfe) return utf16(2, false)
  if (first === 0xfe && second === 0xff) return utf16(2, true)
  const hasMark = first === 0xef && second === 0xbb && third === 0xbf
  if (name !== undefined && !hasMark) return named(name)
  if (second === 0 || first === 0) return utf16(0, first === 0)
  return { mark: hasMark ? 3 : 0, unfinished: unfinishedUtf8, text: textOfUtf8 }
}

function named(name: string): Encoding {
  const decoder = new TextDecoder(name)
  return {
    mark: 0,
    unfinished: () => 0,
    text(bytes, isEnd) {
      try {
        return decoder.decode(bytes, { stream: !isEnd }).replaceAll(REPLACEMENT, STRAY_IN_NAMED)
      } catch (cause) {
        // Some bytes that are no character make Node's decoder throw, although it is told to replace them.
        throw new ImportRefused(`the file is not in the encoding that was named, ${name}`, { cause })
      }
    },
  }
}

function utf16(mark: number, isBig: boolean): Encoding {
  return {
    mark,
    unfinished: ({ length }) => length % 2,
    text(bytes) {
      const isOdd = bytes.length % 2 === 1
      const units = Buffer.from(isOdd ? bytes.subarray(0, -1) : bytes)
      return (isBig ? units.swap16() : units).toString('utf16le') + (isOdd ? STRAY : '')
    },
  }
}

function unfinishedUtf8(bytes: Buffer): number {
  for (let length = 1; length < 4; length++) {
    const byte = bytes.at(-length) ?? 0
    const isContinuation = byte >= 0x80 && byte < 0xc0
    if (isContinuation) continue
    const needed = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    return needed > length ? length : 0
  }
  return 0
}

function textOfUtf8(bytes: Buffer): string {
  const text = bytes.toString()
  if (!text.includes(REPLACEMENT) || isUtf8(bytes)) return text
  // Replacement characters that the file itself has remain.
  const own = Buffer.from(REPLACEMENT).toString('latin1')
  const between = bytes.toString('latin1').split(own)
  return between
    .map((part) => Buffer.from(part, 'latin1').toString().replaceAll(REPLACEMENT, STRAY))
    .join(REPLACEMENT)
}
