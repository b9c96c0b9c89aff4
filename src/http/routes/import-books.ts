import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { partialSchema } from '../../catalogue/json-schema.ts'
import type { Imported, Store } from '../../catalogue/store.ts'
import { FORMATS, type Format, MEDIA_TYPES } from '../../files/formats.ts'
import { ImportRefused, ImportReport } from '../../files/import-report.ts'
import { ImportResult } from '../../import-result.ts'
import { envelope, Failure, failure, success } from '../envelope.ts'
import { atLeast } from '../protocol/least-rate.ts'
import { awaitBody, dropRest } from '../protocol/malformed-requests.ts'
import { parseBoolean, parseQueryString, queryStringOf } from '../query-string.ts'
import { describeEndpoint } from './endpoint-schema.ts'

const ImportParameters = partialSchema({
  dry_run: {
    type: 'boolean',
    description: 'Whether the file is only checked: the answer is 200 with all that is found.',
  },
  skip_existing: {
    type: 'boolean',
    description: 'Whether to pass over books that are there already, with the same title, author and year.',
  },
})

/** What a client has to send, so that it does not keep others from importing: 1 KiB per second over half a minute. */
const LEAST_RATE = { rate: 1024, patience: 30_000 }

const NONE: Imported = { added: 0, skipped: 0 }

/**
 * POST /books/import. One file at a time: each holds a connection, or a part of the disk, as long as its client takes.
 * @param limit bytes that a file may have.
 */
export function registerImport(
  app: FastifyInstance,
  store: Store,
  limit: number,
  authenticated: onRequestHookHandler,
): void {
  let isBusy = false

  app.post('/books/import', {
    schema: describeEndpoint({
      id: 'importBooks',
      summary: 'Add the books of a CSV or NDJSON file, all of them or none',
      query: ImportParameters,
      files: 'read',
      success: success.booksImported,
      data: ImportResult,
      failures: [
        failure.invalidQueryParameter,
        failure.importRefused,
        failure.bodyTooLarge,
        failure.unsupportedMediaType,
      ],
    }),
    config: { unreadable: failure.unsupportedMediaType, streamed: true },
    onRequest: [
      authenticated,
      (request, _reply, done) =>
        done(formatOf(request) === undefined ? failure.unsupportedMediaType : undefined),
    ],
    handler: async (request, reply) => {
      const { raw } = request
      try {
        const format = formatOf(request)
        if (format === undefined) throw failure.unsupportedMediaType
        const options = parseOptions(queryStringOf(request.originalUrl))
        if (Number(raw.headers['content-length']) > limit) throw failure.bodyTooLarge
        if (isBusy) throw failure.unavailable
        isBusy = true
        const gone = new AbortController()
        const leave = () => gone.abort(failure.badRequest)
        reply.raw.once('close', leave)
        try {
          awaitBody(raw)
          const data = await importFile(store, bytesOf(raw, limit), format, {
            ...options,
            signal: gone.signal,
          })
          return envelope(success.booksImported, data)
        } finally {
          isBusy = false
          reply.raw.off('close', leave)
        }
      } catch (error) {
        throw error instanceof ImportRefused ? refusal(error) : error
      } finally {
        // A client that is still sending reads the answer first.
        dropRest(raw)
        raw.resume()
      }
    },
  })
}

interface Options {
  readonly dryRun: boolean
  readonly skipExisting: boolean
}

async function importFile(
  store: Store,
  bytes: AsyncIterable<Uint8Array>,
  format: Format,
  options: Options & { readonly signal: AbortSignal },
): Promise<ImportResult> {
  const report = new ImportReport()
  // Loaded only where it is used, for a quick start.
  const { readBooks } = await import('../../files/read-books.ts')
  const books = readBooks(bytes, format, report)
  const importing = store.import(books, options)
  // A dry run answers with the faults; what cannot be read at all has none.
  const counts = await importing.catch((error: unknown) => {
    if (error instanceof ImportRefused && options.dryRun && report.faulty > 0) return NONE
    throw error
  })
  const { source, rows, withoutYear, faulty, faults } = report
  return {
    source,
    rows,
    ...counts,
    without_year: withoutYear,
    faulty,
    faults: faults.map((fault) => ({ ...fault })),
  }
}

/** @throws Failure when there are too many, they come too slowly, or the client goes away. */
async function* bytesOf(request: IncomingMessage, limit: number): AsyncGenerator<Uint8Array, void> {
  let size = 0
  try {
    // The answer needs the connection when the rest is not read any more.
    const chunks: AsyncIterable<Uint8Array> = request.iterator({ destroyOnReturn: false })
    for await (const chunk of atLeast(chunks, LEAST_RATE, () => failure.requestTimeout)) {
      size += chunk.length
      if (size > limit) throw failure.bodyTooLarge
      yield chunk
    }
  } catch (error) {
    throw error instanceof Failure ? error : failure.badRequest
  }
}

function formatOf({ headers }: FastifyRequest): Format | undefined {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  return FORMATS.find((format) => MEDIA_TYPES[format] === type)
}

/** @throws failure.invalidQueryParameter */
function parseOptions(queryString: string): Options {
  const parameters = parseQueryString(queryString, ImportParameters.properties)
  const { dry_run = 'false', skip_existing = 'false' } = parameters
  return { dryRun: parseBoolean(dry_run), skipExisting: parseBoolean(skip_existing) }
}

function refusal({ message }: ImportRefused): Failure {
  return new Failure(failure.importRefused.status, `${failure.importRefused.message}: ${message}`)
}
