import { setImmediate } from 'node:timers/promises'
import { quoted } from '../catalogue/quoted.ts'
import { ImportRefused, type ImportReport } from './import-report.ts'

/** Bytes that are decoded at once. With small parts, fewer objects survive a collection of the young generation. */
const PART = 8 * 1024

/** Bytes at the start of a file by which its encoding is told. */
const START = 4

/** A character of UTF-8 has at most one byte more than these, so an unfinished one begins in them. */
const UNFINISHED = 3

/** How files begin that are no text, one character for each byte, and what to do with them. */
const NO_TEXT = {
  'PK\x03\x04':
    'the file is a spreadsheet (.xlsx, .ods) or another ZIP archive, not text; save it as CSV in UTF-8',
  '\xd0\xcf\x11\xe0': 'the file is a spreadsheet of an old Excel (.xls), not text; save it as CSV in UTF-8',
  '\x1f\x8b': 'the file is compressed with gzip; unpack it first',
}

/** What a decoder has for bytes that are no character. */
export const REPLACEMENT = '\ufffd'

/** UTF-16 code units that a message quotes before the first of them. */
const QUOTED_BEFORE = 20

/** Any character but those of ASCII, and a replacement. */
const NOT_ASCII = /[\x80-\ufffc\ufffe\uffff]/

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

/** What is found out about a file while it is decoded. */
type Findings = Pick<ImportReport, 'encoding' | 'hasInvalidBytes'>

/**
 * The text of a file: UTF-8 with or without a byte order mark, or UTF-16, as some programs export it.
 * @param named the encoding of a file without a byte order mark, as encodingNamed() gives it.
 * @throws ImportRefused for a file that is no text.
 */
export async function* decode(
  bytes: AsyncIterable<Uint8Array>,
  named: string | undefined,
  findings: Findings,
): AsyncGenerator<string, void> {
  let decoder: Decoder | undefined
  let start = Buffer.alloc(0)
  for await (const part of parts(bytes)) {
    if (decoder === undefined) {
      start = Buffer.concat([start, part])
      if (start.length < START) continue
      decoder = new Decoder(start, named, findings)
      yield decoder.decode(start, false)
    } else yield decoder.decode(part, false)
    // Without this, data that is already there would block the event loop.
    await setImmediate()
  }
  if (decoder === undefined) yield new Decoder(start, named, findings).decode(start, true)
  else yield decoder.decode(Buffer.alloc(0), true)
}

/** @returns why a text with bytes that are no character cannot be stored; undefined if it has none. */
export function invalidBytesIn(text: unknown, { encoding, hasInvalidBytes }: Findings): string | undefined {
  const at = hasInvalidBytes && typeof text === 'string' ? text.indexOf(REPLACEMENT) : -1
  if (typeof text !== 'string' || at === -1) return undefined
  // A file in another encoding would hardly have characters that are right by chance.
  const advice = NOT_ASCII.test(text)
    ? 'correct this text'
    : 'the file seems to be in another encoding, such as Windows-1252 or ISO 8859-1; save it as UTF-8, or name its encoding'
  const reason = TOLD.test(encoding)
    ? `is not in ${encoding.slice(0, 'utf-16'.length).toUpperCase()}; ${advice}`
    : 'is not in the encoding that was named; name the right one, or correct this text'
  return `${quoted(at > QUOTED_BEFORE ? `…${text.slice(at - QUOTED_BEFORE)}` : text)} ${reason}`
}

async function* parts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  for await (const { buffer, byteOffset, length } of bytes) {
    const end = byteOffset + length
    for (let start = byteOffset; start < end; start += PART)
      yield Buffer.from(buffer, start, Math.min(PART, end - start))
  }
}

/** Finds invalid bytes. In UTF-8, a U+FFFD of the file itself is a character like others. */
class Decoder {
  readonly #findings: Findings
  #decoder: TextDecoder
  /** The last bytes before. */
  #last: Buffer = Buffer.alloc(0)

  constructor(start: Buffer, named: string | undefined, findings: Findings) {
    this.#findings = findings
    findings.encoding = encodingOf(start, named)
    this.#decoder = new TextDecoder(findings.encoding, { fatal: findings.encoding === 'utf-8' })
  }

  decode(part: Buffer, isEnd: boolean): string {
    const text = this.#decoded(part, !isEnd)
    if (!this.#decoder.fatal && text.includes(REPLACEMENT)) this.#findings.hasInvalidBytes = true
    return text
  }

  #decoded(part: Buffer, stream: boolean): string {
    try {
      const text = this.#decoder.decode(part, { stream })
      this.#last = (part.length < UNFINISHED ? Buffer.concat([this.#last, part]) : part).subarray(-UNFINISHED)
      return text
    } catch (cause) {
      const { encoding, fatal } = this.#decoder
      // Some bytes that are no character make Node's decoder throw, although it is told to replace them.
      if (!fatal)
        throw new ImportRefused(`the file is not in the encoding that was named, ${encoding}`, { cause })
      this.#decoder = new TextDecoder(encoding)
      this.#decoder.decode(this.#last, { stream: true })
      return this.#decoder.decode(part, { stream })
    }
  }
}

/**
 * UTF-16 has a byte order mark, or is told by its first character, which is in ASCII: a letter, a quote, a brace.
 * @throws ImportRefused for a file that is no text.
 */
function encodingOf(start: Buffer, named: string | undefined): string {
  const characters = start.toString('latin1', 0, START)
  for (const [begin, reason] of Object.entries(NO_TEXT)) {
    if (characters.startsWith(begin)) throw new ImportRefused(reason)
  }
  if (characters.startsWith('\xff\xfe')) return 'utf-16le'
  if (characters.startsWith('\xfe\xff')) return 'utf-16be'
  if (characters.startsWith('\xef\xbb\xbf')) return 'utf-8'
  if (named !== undefined) return named
  if (characters[1] === '\0') return 'utf-16le'
  return characters[0] === '\0' ? 'utf-16be' : 'utf-8'
}
