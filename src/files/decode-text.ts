import { setImmediate } from 'node:timers/promises'
import { ImportRefused } from './import-report.ts'

/** Bytes that are decoded at once. With small parts, fewer objects survive a collection of the young generation. */
const PART = 8 * 1024

/**
 * The text of a file: UTF-8 with or without a byte order mark, or UTF-16 with one, as some programs export it.
 * @throws ImportRefused for anything else.
 */
export async function* decode(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let decoder: TextDecoder | undefined
  let start: Uint8Array = new Uint8Array()
  for await (const chunk of parts(bytes)) {
    if (decoder === undefined) {
      // A byte order mark may come in parts.
      start = Buffer.concat([start, chunk])
      if (start.length < 2) continue
      decoder = decoderFor(start)
      yield textOf(decoder, start)
    } else yield textOf(decoder, chunk)
    // Without this, data that is already there would block the event loop.
    await setImmediate()
  }
  if (decoder === undefined) {
    decoder = decoderFor(start)
    yield textOf(decoder, start)
  }
  yield textOf(decoder)
}

async function* parts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of bytes) {
    for (let start = 0; start < chunk.length; start += PART) yield chunk.subarray(start, start + PART)
  }
}

/** @param chunk undefined at the end, where nothing may be left. */
function textOf(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined })
  } catch (error) {
    throw new ImportRefused('the file is not in UTF-8; save it with that encoding', { cause: error })
  }
}

function decoderFor([first, second]: Uint8Array): TextDecoder {
  const isLittle = first === 0xff && second === 0xfe
  const isBig = first === 0xfe && second === 0xff
  return new TextDecoder(isLittle ? 'utf-16le' : isBig ? 'utf-16be' : 'utf-8', { fatal: true })
}
