import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Book } from '../../catalogue/book.ts'
import type { Schema } from '../../catalogue/json-schema.ts'
import { allPages } from '../../catalogue/page.ts'
import { ALL_BOOKS } from '../../catalogue/query.ts'
import type { QueryOptions } from '../../catalogue/store.ts'
import { FORMATS, type Format, MEDIA_TYPES } from '../../files/formats.ts'
import { framings } from '../../files/write-books.ts'
import { CODINGS, COMPRESSION_SIZE, CompressedStreams, compress, type ListCoding } from '../compression.ts'
import { addVary, negotiate, negotiateCoding } from '../content-negotiation.ts'
import { failure, success } from '../envelope.ts'
import { isAbandoned } from '../error-handler.ts'
import type { FailureLog } from '../failure-log.ts'
import type { ByteBudget } from '../protocol/byte-budget.ts'
import { cut } from '../protocol/close.ts'
import { invalid, queryStringOf } from '../query-string.ts'
import type { Services } from '../services.ts'
import { describeEndpoint, type Endpoint, example, reference } from './endpoint-schema.ts'
import { ListParameters, type ListRequest, queryOptions, readListRequest } from './list-parameters.ts'
import { enveloped, listing, listText } from './list-stream.ts'

const Books: Schema = { type: 'array', items: reference(Book), examples: [[example(Book)]] }

const FILE_TYPES = FORMATS.map((format) => MEDIA_TYPES[format])

/** Texts with fewer UTF-16 code units are not compressed: they fit into one packet anyway. */
const MIN_LENGTH = 1024

/** The most text of a page that a client gets, in bytes of UTF-8. */
const MAX_PAGE_TEXT = 4 * 1024 * 1024

/** The memory that a list usually takes, in bytes. */
const LIST_SIZE = 128 * 1024

/** GET /books */
export function listBooks(
  { books, cursors }: Services,
  responses: ByteBudget,
  failures: FailureLog,
): Endpoint {
  const streams = new CompressedStreams()

  return {
    schema: describeEndpoint({
      id: 'listBooks',
      summary: 'List all books in the order of their ids, or a selection of them',
      description:
        'With `Accept: text/csv` or `Accept: application/x-ndjson`, the response is the same books as a file.',
      query: ListParameters,
      success: success.booksRetrieved,
      data: Books,
      headers: ['Link', 'X-Total-Count', 'X-Search-Index'],
      readsOnly: true,
      failures: [failure.invalidQueryParameter],
    }),
    handler: async (request, reply) => {
      const type = negotiate(request.headers.accept, ['application/json', ...FILE_TYPES])
      /** Undefined unless the client prefers a file to the envelope. */
      const format = FORMATS.find((each) => MEDIA_TYPES[each] === type)
      addVary(reply, 'Accept, Accept-Encoding')
      const asked = readListRequest(request, cursors)
      if (asked?.spreadsheet && format !== 'csv')
        throw invalid('spreadsheet is only for requests that accept text/csv')
      // Reading `request.signal` makes Fastify create it. The list of all books needs none.
      const options = asked ? queryOptions(request, reply) : {}
      if (asked?.count) reply.header('x-total-count', await books.store.count(asked.query.filter, options))
      // Whether a whole list is compressed depends on its length, which is unknown for HEAD: no Content-Encoding then.
      const mayBegin = () => request.method !== 'HEAD' && streams.begin(reply)
      const preferred = negotiateCoding(request, CODINGS)
      const coding =
        preferred !== 'identity' && (asked?.limit !== undefined || mayBegin()) ? preferred : 'identity'
      const list = await readList(request, reply, asked, format, options, coding)
      const isShort = typeof list === 'string' && list.length < MIN_LENGTH
      const response = coding === 'identity' || isShort ? list : await compressed(reply, list, coding)
      reply.type(`${type}; charset=utf-8`)
      if (format !== undefined) reply.header('content-disposition', `attachment; filename="books.${format}"`)
      return response
    },
  }

  /** @param asked undefined for all books. */
  async function readList(
    request: FastifyRequest,
    reply: FastifyReply,
    asked: ListRequest | undefined,
    format: Format | undefined,
    options: QueryOptions,
    coding: ListCoding,
  ): Promise<string | Readable> {
    const framing = format === undefined ? enveloped : framings[asked?.spreadsheet ? 'spreadsheet' : format]
    if (asked?.limit !== undefined) {
      // The page has fewer books than `limit` if their texts are very long.
      const bounds = { books: asked.limit, text: MAX_PAGE_TEXT }
      const page = await books.store.page(asked.query, asked.after, bounds, options)
      if (page.more && page.last !== undefined) {
        const next = new URLSearchParams(queryStringOf(request.originalUrl))
        next.set('after', cursors.write(page.last, asked.query))
        reply.header('link', `<books?${next}>; rel="next"`)
      }
      return listText(page, framing)
    }
    // An estimate: the size is known only when the first page has been read.
    const more = coding === 'identity' ? 0 : COMPRESSION_SIZE
    if (!responses.take(reply.raw, LIST_SIZE + more)) throw failure.unavailable
    const pages = allPages(books.store, asked?.query ?? ALL_BOOKS, asked?.after, options)
    if (request.method === 'HEAD') {
      // The first page shows whether the list can be read. For a stream, Fastify sends no Content-Length.
      await pages[Symbol.asyncIterator]().next()
      return Readable.from([])
    }
    const list = await listing(pages, framing, (bytes) => {
      if (!responses.take(reply.raw, bytes + more)) responses.cut(reply.raw)
    })
    if (list instanceof Readable) {
      list.once('error', (error) => {
        // Fastify destroys the response then, or answers with 500 if nothing has been sent.
        if (reply.raw.headersSent) cut(request.raw.socket)
        if (!isAbandoned(error, request))
          failures.add(error, request, 'a list was cut: the store failed midway')
      })
    }
    return list
  }

  async function compressed(
    reply: FastifyReply,
    list: string | Readable,
    coding: Exclude<ListCoding, 'identity'>,
  ): Promise<Buffer | Readable> {
    if (typeof list === 'string' && !responses.take(reply.raw, list.length)) throw failure.unavailable
    const response = await compress(list, coding, () => reply.raw.destroy())
    reply.header('content-encoding', coding)
    return response
  }
}
