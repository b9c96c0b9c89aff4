import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { errorCodes, type FastifyInstance } from 'fastify'
import { Failure, failure } from '../envelope.ts'
import type { ByteBudget } from './byte-budget.ts'
import { askForBody } from './close.ts'
import { lastResponse } from './connections.ts'

const { FST_ERR_CTP_BODY_TOO_LARGE, FST_ERR_CTP_INVALID_JSON_BODY } = errorCodes

/** Bodies of up to this many bytes are not counted in the budget: they are harmless on any number of connections. */
const MAX_UNCOUNTED = 4096

/**
 * The maximum number of opening brackets, opening braces and commas outside of strings. A book needs three. Parsing a
 * megabyte of them would block the process for a tenth of a second; a megabyte of text takes a millisecond.
 */
const MAX_SEPARATORS = 16 * 1024

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACKET = 0x5b
const BRACE = 0x7b
const COMMA = 0x2c

/**
 * Reads every body as JSON, whatever its Content-Type, up to the limit of its route.
 * @param budget for all bodies. Each is counted until its request has been answered.
 */
export function parseBodies(app: FastifyInstance, budget: ByteBudget): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', ({ headers, raw, routeOptions }, stream, done) => {
    if (routeOptions.config.streamed) return done(null, stream)
    const limit = routeOptions.bodyLimit
    if (Number(headers['content-length']) > limit) return done(new FST_ERR_CTP_BODY_TOO_LARGE())
    askForBody(raw)
    const holder = lastResponse(raw.socket) ?? raw
    const hasRoom = (bytes: number) => bytes <= MAX_UNCOUNTED || budget.take(holder, bytes)
    readBody(stream, limit, hasRoom, (error, body) => {
      if (error !== null) return done(error instanceof Failure ? error : failure.badRequest)
      if (body === undefined) return done(new FST_ERR_CTP_BODY_TOO_LARGE())
      const value = parseJson(body)
      if (value === undefined) done(new FST_ERR_CTP_INVALID_JSON_BODY())
      else done(null, value)
    })
  })
}

/**
 * Reads a body into one buffer, and copies each chunk as it arrives. Kept chunks would take hundreds of bytes each
 * besides their content, and a client may send them with one byte each.
 * @param limit the maximum size, in bytes. Nothing is kept of a larger body.
 * @param hasRoom is called before the buffer takes that many bytes.
 * @param done gets the body, undefined if it is over the limit, or an error: failure.unavailable if there is no room.
 */
function readBody(
  stream: Readable,
  limit: number,
  hasRoom: (bytes: number) => boolean,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  let buffer: Buffer = Buffer.alloc(0)
  let size = 0

  function settle(error: Error | null, body?: Buffer): void {
    stream.off('data', add).off('end', end).off('error', settle)
    buffer = Buffer.alloc(0)
    done(error, body)
  }

  function add(chunk: Buffer): void {
    const start = size
    size += chunk.length
    if (size > limit) {
      settle(null)
      return
    }
    // Most bodies are one chunk, which needs no copy.
    const isFirst = start === 0
    const capacity = isFirst ? size : Math.max(size, Math.min(2 * buffer.length, limit))
    if (size > buffer.length) {
      if (!hasRoom(capacity)) {
        settle(failure.unavailable)
        return
      }
      if (isFirst) {
        buffer = chunk
        return
      }
      const larger = Buffer.allocUnsafeSlow(capacity)
      buffer.copy(larger, 0, 0, start)
      buffer = larger
    }
    chunk.copy(buffer, start)
  }

  function end(): void {
    settle(null, buffer.subarray(0, size))
  }

  stream.on('data', add).on('end', end).on('error', settle).resume()
}

/** @returns undefined if the body is not JSON in UTF-8 (RFC 8259 §8.1), or has too many values. */
function parseJson(body: Buffer): unknown {
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
