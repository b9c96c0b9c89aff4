import { setImmediate } from 'node:timers/promises'
import { quoted } from '../catalogue/quoted.ts'
import { ImportRefused, type ImportReport } from './import-report.ts'

/** Bytes that are decoded at once. With small parts, fewer objects survive a collection of the young generation. */
const PART = 8 * 1024

/** Bytes at the start of a file by which the encoding is detected. */
const START = 4

/** An unfinished UTF-8 character at the end of a part has at most this many bytes. */
const UNFINISHED = 3

/** The first bytes of files that are not text, each as one character, and the messages for them. */
const BINARY_SIGNATURES = {
  'PK\x03\x04':
    'the file is a spreadsheet (.xlsx, .ods) or another ZIP archive, not text; save it as CSV in UTF-8',
  '\xd0\xcf\x11\xe0': 'the file is a spreadsheet of an old Excel (.xls), not text; save it as CSV in UTF-8',
  '\x1f\x8b': 'the file is compressed with gzip; unpack it first',
}

export const REPLACEMENT = '\ufffd'

export const OTHER_ENCODING =
  'the file seems to be in another encoding, such as Windows-1252 or ISO 8859-1; save it as UTF-8, or name its encoding'

/** UTF-16 code units that a message quotes before the first invalid bytes. */
const QUOTED_BEFORE = 20

/** Any character except those of ASCII and REPLACEMENT. */
const NOT_ASCII = /[\x80-\ufffc\ufffe\uffff]/

const UNICODE = /^utf-(?:8|16)/

/**
 * @param label as in the WHATWG Encoding Standard.
 * @returns the name of the encoding; undefined for UTF-8, and for ASCII, which is a part of it.
 * @throws RangeError for an unknown label.
 */
export function encodingNamed(label: string): string | undefined {
  const { encoding } = new TextDecoder(label)
  return encoding === 'utf-8' || /^(?:us-)?ascii$/i.test(label.trim()) ? undefined : encoding
}

type Findings = Pick<ImportReport, 'encoding' | 'hasInvalidBytes'>

/**
 * Yields the text of a file: in UTF-8 or UTF-16, as some programs export it, or in the named encoding.
 * @param named as `encodingNamed()` returns it. A byte order mark takes precedence.
 * @throws ImportRefused for a file that is not text.
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
    // Otherwise, data that has already arrived would block the event loop.
    await setImmediate()
  }
  if (decoder === undefined) yield new Decoder(start, named, findings).decode(start, true)
  else yield decoder.decode(Buffer.alloc(0), true)
}

/** @returns why a text with invalid bytes cannot be stored, or undefined if it has none. */
export function invalidBytesIn(text: unknown, { encoding, hasInvalidBytes }: Findings): string | undefined {
  const at = hasInvalidBytes && typeof text === 'string' ? text.indexOf(REPLACEMENT) : -1
  if (typeof text !== 'string' || at === -1) return undefined
  // If the file were in another encoding, valid characters beyond ASCII would be unlikely.
  const advice = NOT_ASCII.test(text) ? 'correct this text' : OTHER_ENCODING
  const reason = UNICODE.test(encoding)
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

/** Detects invalid bytes. In UTF-8, a U+FFFD that the file itself has before them is an ordinary character. */
class Decoder {
  readonly #findings: Findings
  #decoder: TextDecoder
  /** The last bytes of earlier parts. */
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
      // Node's decoder throws for some invalid bytes, although it is told to replace them.
      if (!fatal)
        throw new ImportRefused(`the file is not in the encoding that was named, ${encoding}`, { cause })
      this.#decoder = new TextDecoder(encoding)
      this.#decoder.decode(this.#last, { stream: true })
      return this.#decoder.decode(part, { stream })
    }
  }
}

/**
 * Detects UTF-16 by its byte order mark or its first character, which is ASCII: a letter, a quote, a brace.
 * @throws ImportRefused for a file that is not text.
 */
function encodingOf(start: Buffer, named: string | undefined): string {
  const characters = start.toString('latin1', 0, START)
  for (const [begin, reason] of Object.entries(BINARY_SIGNATURES)) {
    if (characters.startsWith(begin)) throw new ImportRefused(reason)
  }
  if (characters.startsWith('\xff\xfe')) return 'utf-16le'
  if (characters.startsWith('\xfe\xff')) return 'utf-16be'
  if (characters.startsWith('\xef\xbb\xbf')) return 'utf-8'
  const isUnicode = named === undefined || UNICODE.test(named)
  if (isUnicode && characters[1] === '\0') return 'utf-16le'
  return isUnicode && characters[0] === '\0' ? 'utf-16be' : (named ?? 'utf-8')
}
