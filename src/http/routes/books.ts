import { Readable } from 'node:stream'
import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
} from 'fastify'
import { type Auth, Login, TokenData } from '../../auth/auth.ts'
import type { LoginLimit } from '../../auth/login-throttle.ts'
import { Book, BookChanges, NewBook, parseBookId } from '../../catalogue/book.ts'
import { walk } from '../../catalogue/paginate.ts'
import type { Store } from '../../catalogue/store.ts'
import { conditionalWrite } from '../../conditional-write.ts'
import { type Config, LOGIN_BODY_LIMIT } from '../../config.ts'
import { FORMATS, type Format, MEDIA_TYPES } from '../../files/formats.ts'
import { framings, wholeLists } from '../../files/write-books.ts'
import { registerStatistics } from '../../statistics-endpoint.ts'
import { isAbandoned } from '../abandoned-queries.ts'
import { entityTag, ifMatch, ifNoneMatch } from '../conditional-requests.ts'
import { negotiate } from '../content-negotiation.ts'
import { isFromForeignPage } from '../cors.ts'
import { type Answer, type Envelope, envelope, type Failure, failure, success } from '../envelope.ts'
import { type Cursors, positionAt } from '../page-cursor.ts'
import type { UnsentAnswers } from '../protocol/unsent-answers.ts'
import { queryStringOf } from '../query-string.ts'
import { announceIncomplete } from '../search-index-header.ts'
import { Books, describeEndpoint, NoData } from './endpoint-schema.ts'
import { registerImport } from './import-books.ts'
import { ListParameters, nextPage, parseListRequest } from './list-parameters.ts'
import { enveloped, listing, listText, readPage } from './list-stream.ts'

export interface Services {
  readonly store: Store
  readonly auth: Auth
  readonly loginLimit: LoginLimit
  readonly cursors: Cursors
  /** Bytes that a file of books may have. */
  readonly importLimit: number
}

/** What of the configuration the endpoints obey. */
export type ApiSettings = Pick<Config, 'trustProxy' | 'corsOrigins'>

/** Bytes that a list has in memory as a rule. */
const LIST_SIZE = 128 * 1024

/** A browser may keep the book for its user, and has to ask each time whether it is still the same. */
const REVALIDATED = { 'cache-control': 'private, no-cache' }

type OneBook = { Params: { id: string } }

/**
 * The endpoints, in the order of the contract's table (§4). A request passes `onRequest` before its body is
 * read. PUT checks in the order authentication, existence, body (§4 rule 3), and then the conditions of the request.
 */
export function registerApi(
  app: FastifyInstance,
  { store, auth, loginLimit, cursors, importLimit }: Services,
  settings: ApiSettings,
  unsent: UnsentAnswers,
): void {
  const authenticated = requireToken(auth)
  const warnOfProxy = proxyWarning(settings)

  app.post<{ Body: Login }>('/token', {
    schema: describeEndpoint({
      id: 'logIn',
      summary: 'Exchange the username and the password for a token',
      public: true,
      body: Login,
      success: success.tokenGenerated,
      data: TokenData,
      failures: [
        failure.invalidPayload,
        failure.invalidCredentials,
        failure.crossOrigin,
        failure.tooManyRequests,
        failure.tokenNotGenerated,
      ],
    }),
    bodyLimit: LOGIN_BODY_LIMIT,
    config: { unreadable: failure.invalidPayload },
    onRequest: async (request, reply) => {
      warnOfProxy(request)
      // Otherwise any page could use up the attempts of the addresses that its visitors come from.
      if (isFromForeignPage(request, settings.corsOrigins)) throw failure.crossOrigin
      refuseTooMany(loginLimit, request, reply)
    },
    handler: async (request, reply) => {
      // Others from the same address may have failed while this body was on its way.
      refuseTooMany(loginLimit, request, reply)
      if (!auth.matches(request.body)) {
        const isNowRefused = loginLimit.failed(request.ip)
        if (isNowRefused) request.log.warn({ ip: request.ip }, 'too many failed logins from this address')
        throw failure.invalidCredentials
      }
      const token = await auth.issue().catch((error: unknown) => {
        request.log.error({ err: error }, 'a token could not be signed')
        throw failure.tokenNotGenerated
      })
      return answer(reply, success.tokenGenerated, { token })
    },
  })

  app.post<{ Body: NewBook }>('/book', {
    schema: describeEndpoint({
      id: 'createBook',
      summary: 'Create a book',
      body: NewBook,
      success: success.bookCreated,
      data: Book,
      tagged: true,
      failures: [failure.invalidInput],
    }),
    config: { unreadable: failure.invalidInput },
    onRequest: authenticated,
    handler: async (request, reply) =>
      answerBook(reply, success.bookCreated, await store.create(request.body)),
  })

  app.get('/books', {
    schema: describeEndpoint({
      id: 'listBooks',
      summary: 'List all books, in the order of their ids; or those that are asked for',
      query: ListParameters,
      success: success.booksRetrieved,
      data: Books,
      files: 'written',
      indexed: true,
      failures: [failure.invalidQueryParameter],
    }),
    onRequest: authenticated,
    handler: async (request, reply) => {
      const { type, format, disposition } = chooseForm(request)
      const framing = format === undefined ? enveloped : framings[format]
      const announce = () => {
        reply.type(`${type}; charset=utf-8`)
        if (disposition !== undefined) reply.header('content-disposition', disposition)
      }
      addVary(reply, 'Accept')
      const queryString = queryStringOf(request.originalUrl)
      const asked = queryString === '' ? undefined : parseListRequest(queryString, cursors)
      const after = asked?.after && (await positionAt(store, asked.after, asked.query))
      const options = { signal: request.signal, onIncomplete: () => announceIncomplete(reply) }
      if (asked?.count) reply.header('x-total-count', await store.count(asked.query.filter, options))
      if (asked?.limit !== undefined) {
        const page = await readPage(store, asked.query, after, asked.limit, options)
        if (page.more && page.last !== undefined) {
          const next = nextPage(queryString, cursors.write(page.last, asked.query))
          reply.header('link', `</books?${next}>; rel="next"`)
        }
        announce()
        return listText(page.json, framing)
      }
      // A HEAD request has no use for the books; without them its length is not known either.
      if (request.method === 'HEAD') {
        announce()
        return Readable.from([])
      }
      // Before any page is read. What the list really takes is known with its first pages.
      if (!unsent.hold(reply, LIST_SIZE)) throw failure.unavailable
      const whole = asked || format === undefined ? undefined : wholeLists[format]
      const pages = asked ? walk(store, asked.query, after, options) : store.list(whole?.pages)
      const list = await listing(pages, whole?.framing ?? framing, (bytes) => unsent.hold(reply, bytes))
      if (list instanceof Readable) {
        list.once('error', (error) => {
          if (!isAbandoned(error, request))
            request.log.error({ err: error }, 'a list was cut: the store failed midway')
        })
      }
      announce()
      return list
    },
  })

  registerStatistics(app, store, authenticated)

  registerImport(app, store, importLimit, authenticated)

  app.get<OneBook>('/book/:id', {
    schema: describeEndpoint({
      id: 'readBook',
      summary: 'Read a book',
      success: success.bookRetrieved,
      data: Book,
      tagged: true,
      revalidated: true,
      failures: [failure.bookNotFound, failure.preconditionFailed],
    }),
    onRequest: authenticated,
    handler: async (request, reply) => {
      const book = found(await store.find(bookId(request.params)))
      const tag = entityTag(book)
      if (!ifMatch(request.headers, tag)) throw failure.preconditionFailed
      if (!ifNoneMatch(request.headers, tag)) {
        // To a HEAD request Fastify would add a Content-Length of 0, unless it cannot know it (RFC 9110 §8.6).
        return reply
          .headers({ etag: tag, ...REVALIDATED })
          .code(304)
          .send(Readable.from([]))
      }
      reply.headers(REVALIDATED)
      return answerBook(reply, success.bookRetrieved, book, tag)
    },
  })

  app.put<OneBook & { Body: BookChanges }>('/book/:id', {
    schema: describeEndpoint({
      id: 'updateBook',
      summary: 'Change the fields given of a book',
      body: BookChanges,
      success: success.bookUpdated,
      data: Book,
      tagged: true,
      failures: [failure.bookNotFound, failure.invalidInput, failure.preconditionFailed],
    }),
    config: { unreadable: failure.invalidInput },
    onRequest: authenticated,
    handler: async (request, reply) => {
      const id = bookId(request.params)
      const book = await conditionalWrite(store, id, request.headers, (expected) =>
        store.update(id, request.body, expected),
      )
      return answerBook(reply, success.bookUpdated, found(book))
    },
    // The update itself tells whether there is such a book; only a body that never comes so far needs the question.
    errorHandler: async (error, request) => {
      if (isAboutBody(error)) found(await store.find(bookId(request.params)))
      throw error
    },
  })

  app.delete<OneBook>('/book/:id', {
    schema: describeEndpoint({
      id: 'deleteBook',
      summary: 'Delete a book',
      success: success.bookDeleted,
      data: NoData,
      failures: [failure.bookNotFound, failure.preconditionFailed],
    }),
    onRequest: authenticated,
    handler: async (request, reply) => {
      const id = bookId(request.params)
      const isDeleted = await conditionalWrite(store, id, request.headers, (expected) =>
        store.delete(id, expected),
      )
      if (!isDeleted) throw failure.bookNotFound
      return answer(reply, success.bookDeleted, null)
    },
  })
}

/** Lets a request pass only with a valid token in its Authorization header (§5.4, §5.5). */
function requireToken(auth: Auth): onRequestHookHandler {
  return (request, _reply, done) => {
    const token = request.headers.authorization
    if (token === undefined || token === '') return done(failure.tokenRequired)
    const settle = (valid: boolean) => (valid ? done() : done(failure.invalidToken))
    const valid = auth.verify(token)
    if (typeof valid === 'boolean') settle(valid)
    else valid.then(settle, done)
  }
}

/** How the list is answered: in the envelope, unless a file is preferred. */
function chooseForm({ headers }: FastifyRequest): { type: string; format?: Format; disposition?: string } {
  const types = FORMATS.map((format) => MEDIA_TYPES[format])
  const type = negotiate(headers.accept, ['application/json', ...types])
  const format = FORMATS.find((each) => MEDIA_TYPES[each] === type)
  if (format === undefined) return { type }
  return { type, format, disposition: `attachment; filename="books.${format}"` }
}

function addVary(reply: FastifyReply, name: string): void {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? name : `${others}, ${name}`)
}

/** Tells the operator once that failed logins are counted for a proxy, if they seem to be. */
function proxyWarning({ trustProxy }: ApiSettings): (request: FastifyRequest) => void {
  let isDue = trustProxy === false
  return ({ headers, ip, log }) => {
    if (!isDue || headers['x-forwarded-for'] === undefined) return
    isDue = false
    log.warn(
      { ip },
      'X-Forwarded-For is ignored: behind a proxy, set TRUST_PROXY, or its clients share one login limit',
    )
  }
}

/** Refuses a login, right or wrong, from an address that has failed too often. */
function refuseTooMany(limit: LoginLimit, { ip }: FastifyRequest, reply: FastifyReply): void {
  const seconds = limit.wait(ip)
  if (seconds === 0) return
  reply.header('retry-after', seconds)
  throw failure.tooManyRequests
}

/** Whether a request is refused for its body, by the schema, the parser or the limit of its size. */
function isAboutBody(error: FastifyError | Failure): boolean {
  return error === failure.invalidInput || ('statusCode' in error && (error.statusCode ?? 500) < 500)
}

function bookId(params: { id: string }): number {
  return found(parseBookId(params.id))
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw failure.bookNotFound
  return value
}

function answerBook(reply: FastifyReply, outcome: Answer, book: Book, tag = entityTag(book)): Envelope<Book> {
  reply.header('etag', tag)
  return answer(reply, outcome, book)
}

function answer<Data>(reply: FastifyReply, outcome: Answer, data: Data): Envelope<Data> {
  reply.code(outcome.status)
  return envelope(outcome, data)
}
