import type { FastifyError, FastifyReply } from 'fastify'
import { Book, BookChanges, NewBook, parseBookId } from '../../catalogue/book.ts'
import { conditionalWrite, entityTag, ifMatch, ifNoneMatch, notModified } from '../conditional-requests.ts'
import {
  type Envelope,
  envelope,
  type Failure,
  failure,
  NoData,
  type StatusLine,
  success,
} from '../envelope.ts'
import type { Services } from '../services.ts'
import { validBody } from '../valid-input.ts'
import { describeEndpoint, type Endpoint } from './endpoint-schema.ts'

/** A browser may cache the book for its user, but has to revalidate it before each use. */
const REVALIDATED = { 'cache-control': 'private, no-cache' }

type OneBook = { Params: { id: string } }

/** POST /book */
export function createBook({ books }: Services): Endpoint {
  return {
    schema: describeEndpoint({
      id: 'createBook',
      summary: 'Create a book',
      description:
        'The book is stored durably before the response. It gets the next id, which is never used again.',
      body: NewBook,
      success: success.bookCreated,
      data: Book,
      headers: ['ETag', 'Location'],
      failures: [failure.invalidInput],
    }),
    config: { unreadable: failure.invalidInput },
    handler: async (request, reply) => {
      const book = await books.store.create(validBody(request, NewBook))
      // Relative, like `Link`, because a proxy may serve the API under a path prefix.
      reply.header('location', `book/${book.id}`)
      return bookResponse(reply, success.bookCreated, book)
    },
  }
}

/** GET /book/:id */
export function readBook({ books }: Services): Endpoint<OneBook> {
  return {
    schema: describeEndpoint({
      id: 'readBook',
      summary: 'Read a book',
      description:
        'With `If-None-Match` and the `ETag` of an earlier response, an unchanged book is not sent again.',
      ofBook: true,
      success: success.bookRetrieved,
      data: Book,
      headers: ['ETag'],
      readsOnly: true,
      failures: [failure.bookNotFound, failure.preconditionFailed],
    }),
    handler: async (request, reply) => {
      const book = orNotFound(await books.store.find(bookId(request.params)))
      const tag = entityTag(book)
      if (!ifMatch(request.headers, tag)) throw failure.preconditionFailed
      reply.headers(REVALIDATED)
      if (!ifNoneMatch(request.headers, tag)) {
        return notModified(reply.header('etag', tag))
      }
      return bookResponse(reply, success.bookRetrieved, book, tag)
    },
  }
}

/** PUT /book/:id checks authentication, existence, body (§4 rule 3), and then the preconditions, in this order. */
export function updateBook({ books }: Services): Endpoint<OneBook> {
  return {
    schema: describeEndpoint({
      id: 'updateBook',
      summary: 'Change the given fields of a book',
      description:
        'The other fields stay as they are. With `If-Match` and the `ETag` of a response, a change that somebody else has made meanwhile is not overwritten.',
      ofBook: true,
      body: BookChanges,
      success: success.bookUpdated,
      data: Book,
      headers: ['ETag'],
      failures: [failure.bookNotFound, failure.invalidInput, failure.preconditionFailed],
    }),
    config: { unreadable: failure.invalidInput },
    handler: async (request, reply) => {
      const id = bookId(request.params)
      const changes = validBody(request, BookChanges)
      const book = await conditionalWrite(books.store, id, request.headers, (expected) =>
        books.store.update(id, changes, expected),
      )
      return bookResponse(reply, success.bookUpdated, orNotFound(book))
    },
    // The update itself finds out whether the book exists. A refused body never gets there, but 404 comes before 400.
    errorHandler: async (error, request) => {
      if (isAboutBody(error)) orNotFound(await books.store.find(bookId(request.params)))
      throw error
    },
  }
}

/** DELETE /book/:id */
export function deleteBook({ books }: Services): Endpoint<OneBook> {
  return {
    schema: describeEndpoint({
      id: 'deleteBook',
      summary: 'Delete a book',
      description:
        'With `If-Match` and the `ETag` of a response, only the book as it was in that response is deleted.',
      ofBook: true,
      success: success.bookDeleted,
      data: NoData,
      failures: [failure.bookNotFound, failure.preconditionFailed],
    }),
    handler: async (request) => {
      const id = bookId(request.params)
      const isDeleted = await conditionalWrite(books.store, id, request.headers, (expected) =>
        books.store.delete(id, expected),
      )
      if (!isDeleted) throw failure.bookNotFound
      return envelope(success.bookDeleted, null)
    },
  }
}

function bookId(params: { id: string }): number {
  return orNotFound(parseBookId(params.id))
}

function orNotFound<Value>(value: Value | undefined): Value {
  if (value === undefined) throw failure.bookNotFound
  return value
}

/** Whether a request is refused because of its body: by its schema, by the parser, or for its size. */
function isAboutBody(error: FastifyError | Failure): boolean {
  return 'statusCode' in error && (error.statusCode ?? 500) < 500
}

function bookResponse(
  reply: FastifyReply,
  outcome: StatusLine,
  book: Book,
  tag = entityTag(book),
): Envelope<Book> {
  reply.code(outcome.status).header('etag', tag)
  return envelope(outcome, book)
}
