import { ReadStream } from 'node:fs'
import fastify, {
  errorCodes,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { MAX_BOOK_SIZE } from '../catalogue/book.ts'
import { StoreUnavailable } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import { logStream } from '../observability/logging.ts'
import type { Metrics } from '../observability/metrics.ts'
import { ReadsFirst } from '../reads-first.ts'
import { requestId } from '../request-id.ts'
import type { TrustProxy } from '../setting-values.ts'
import { isAbandoned } from './abandoned-queries.ts'
import { allowOrigins } from './cors.ts'
import { envelope, Failure, failure } from './envelope.ts'
import { refuseOverload } from './load-shedding.ts'
import { registerOpenApi } from './openapi.ts'
import { readBody } from './protocol/body.ts'
import { limitConnections } from './protocol/connection-limit.ts'
import { parseJson } from './protocol/json-body.ts'
import {
  answerTo,
  closeAfterAnswer,
  dropRest,
  nonconformance,
  noteRequest,
  refuseConnection,
  refuseUnroutable,
  serveThrough,
} from './protocol/malformed-requests.ts'
import { collectPaths, literalPath } from './protocol/paths.ts'
import { hasWaiting, oneAtATime } from './protocol/pipelining.ts'
import { UNCOUNTED, UnsentAnswers } from './protocol/unsent-answers.ts'
import { registerApi, type Services } from './routes/books.ts'
import { registerHealth } from './routes/health.ts'
import { registerWebPage } from './web-page/routes.ts'

const { FST_ERR_CTP_BODY_TOO_LARGE } = errorCodes

/** Limits on what a client may send; sizes in bytes, times in milliseconds. */
const LIMITS = {
  body: MAX_BOOK_SIZE,
  headers: 16 * 1024,
  /** From the first byte of a request, or from the connection, to the end of its headers. */
  headersTime: 10_000,
  /** … to the end of its body. */
  requestTime: 30_000,
  /** How often the two are checked. */
  timeCheckInterval: 1000,
  /**
   * A connection on which nothing moves, be it idle or to a client that does not read its answer. Longer than the
   * 60 seconds usual in proxies, so that the proxy closes an idle one first.
   */
  idleTime: 72_000,
}

/** Seconds after which a client may try again when the store was unavailable. */
const RETRY_AFTER = 1

/** Header fields of every answer; those of the web page have their own Cache-Control. */
const ALWAYS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/**
 * What a 401 has to say of the credentials that are wanted (RFC 9110 §11.6.1). The name is our own, for the token is sent
 * without any: one that browsers know, such as Basic, would make them ask their user for a password.
 */
const CHALLENGE = 'Token realm="books"'

/** What a file that is being sent counts as, in bytes: more than it takes, so that few enough are open. */
const FILE_SIZE = 512 * 1024

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What answers a body that cannot be read as the route's schema says; a route without one has no body. */
    unreadable?: Failure
    /** Whether the handler reads the body itself, of whatever type and size. */
    streamed?: boolean
  }
}

/** What of the configuration the server itself obeys. */
export type ServerSettings = Pick<Config, 'logLevel' | 'trustProxy' | 'corsOrigins'>

/** The HTTP service, not yet listening. */
export async function createServer(
  services: Services,
  settings: ServerSettings,
  metrics?: Metrics,
): Promise<FastifyInstance> {
  const order = new ReadsFirst()
  const app = fastify({
    logger: { level: settings.logLevel, stream: await logStream() },
    genReqId: requestId,
    trustProxy: trustedProxies(settings.trustProxy),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: LIMITS.body,
    requestTimeout: LIMITS.requestTime,
    keepAliveTimeout: LIMITS.idleTime,
    connectionTimeout: LIMITS.idleTime,
    http: {
      maxHeaderSize: LIMITS.headers,
      headersTimeout: LIMITS.headersTime,
      connectionsCheckingInterval: LIMITS.timeCheckInterval,
      // Node would answer these two itself, outside the envelope, or use the first of several values.
      requireHostHeader: false,
      joinDuplicateHeaders: true,
    },
    routerOptions: { maxParamLength: LIMITS.headers },
    rewriteUrl: ({ url = '/' }) => literalPath(url),
    // A request that still arrives on an open connection during shutdown is served.
    return503OnClosing: false,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    clientErrorHandler: (error, socket) => {
      order.serveAll()
      refuseConnection(error, socket)
    },
  })
  refuseUnroutable(app.server, app.routing)
  limitConnections(app.server, app.log)
  serveThrough(app.server, (serve) => oneAtATime(order.inOrder(serve)))
  app.addHook('onRequest', (request, reply, done) => {
    noteRequest(request.raw)
    reply.headers({ 'x-request-id': request.id, ...ALWAYS })
    done(nonconformance(request.raw, LIMITS.headers))
  })
  if (settings.corsOrigins.length > 0) await allowOrigins(app, settings.corsOrigins)

  const refuseOtherMethods = collectPaths(app)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request, stream, done) => {
    if (request.routeOptions.config.streamed) return done(null, stream)
    const limit = request.routeOptions.bodyLimit
    if (Number(request.headers['content-length']) > limit) return done(new FST_ERR_CTP_BODY_TOO_LARGE())
    readBody(stream, limit, answerTo(request.raw), (error, body) => {
      if (error !== null) return done(error instanceof Failure ? error : unreadable(request))
      if (body === undefined) return done(new FST_ERR_CTP_BODY_TOO_LARGE())
      const value = parseJson(body)
      if (value === undefined) done(unreadable(request))
      else done(null, value)
    })
  })
  app.addHook('onRequest', (request, _reply, done) => {
    // The router takes /book/ for /book/:id with an empty id.
    if (request.is404 || (request.params as { id?: string }).id === '') return done(failure.notFound)
    // The body is JSON whatever the header says, or if there is none.
    if (!request.routeOptions.config.streamed) request.headers['content-type'] = undefined
    done()
  })
  const unsent = new UnsentAnswers()
  app.addHook('onSend', (request, reply, payload, done) => {
    // So that the client does not send its next request into a connection that is about to end.
    const isStopping = !app.server.listening && !hasWaiting(request.raw)
    // Of a packet with a request to upgrade, Node drops what comes after it.
    if (isStopping || request.raw.headers.upgrade !== undefined) {
      reply.header('connection', 'close')
      closeAfterAnswer(request.raw.socket)
    }
    const size = memoryOf(payload)
    if (size <= UNCOUNTED || unsent.hold(reply, size)) return done()
    if (payload instanceof ReadStream) payload.destroy()
    // What was said of the answer that is not sent.
    reply.headers(ALWAYS).removeHeader('etag')
    done(failure.unavailable)
  })
  refuseOverload(app)
  app.setNotFoundHandler(() => {
    throw failure.notFound
  })
  app.setErrorHandler<FastifyError | Failure>((error, request, reply) => {
    const answer = failureOf(error, request)
    if (answer.status >= 500 && error !== answer && !isAbandoned(error, request))
      request.log.error({ err: error }, answer.message)
    if (answer.status === 401) reply.header('www-authenticate', CHALLENGE)
    if (answer === failure.unavailable) reply.header('retry-after', RETRY_AFTER)
    if (CLOSING.has(answer)) {
      reply.header('connection', 'close')
      closeAfterAnswer(request.raw.socket)
    } else keepConnection(request, reply)
    return reply.code(answer.status).send(envelope(answer, null))
  })

  metrics?.countAnswers(app)
  if (settings.logLevel === 'debug' || settings.logLevel === 'trace') logRequests(app)
  await registerOpenApi(app)
  registerHealth(app, services)
  registerWebPage(app)
  registerApi(app, services, settings, unsent)
  refuseOtherMethods()
  return app
}

/** Bytes that an answer takes for itself until it is sent. Lists are counted where they are made. */
function memoryOf(payload: unknown): number {
  if (typeof payload === 'string') return payload.length
  return payload instanceof ReadStream ? FILE_SIZE : 0
}

/** The proxies in a row, counted from here; `true` means the one that connects, since others can be made up. */
function trustedProxies(
  trusted: TrustProxy,
): boolean | string[] | ((address: string, hop: number) => boolean) {
  const count = trusted === true ? 1 : trusted
  return typeof count === 'number' ? (_address, hop) => hop < count : count
}

/** One line for each answer; the path without its query, and no other form of address, which may hold a password. */
function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, ip } = request
    const path = request.originalUrl.startsWith('/') ? request.originalUrl.split('?')[0] : undefined
    request.log.debug({ method, path, ip, status: reply.statusCode, ms: reply.elapsedTime }, 'answered')
    done()
  })
}

/** What is refused in such a way that the end of the request is not known. */
const CLOSING = new Set<Failure>([failure.badRequest, failure.headersTooLarge, failure.requestTimeout])

/**
 * Undoes that Fastify closes the connection after a body that it did not accept: a client that is still sending
 * would lose the answer.
 */
function keepConnection(request: FastifyRequest, reply: FastifyReply): void {
  if (reply.getHeader('connection') !== 'close') return
  reply.removeHeader('connection')
  dropRest(request.raw)
}

/** Turns anything thrown into an answer of the table. */
function failureOf(error: FastifyError | Failure, request: FastifyRequest): Failure {
  if (error instanceof Failure) return error
  if (error instanceof StoreUnavailable) return failure.unavailable
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return failure.bodyTooLarge
  if (error.validation !== undefined) return unreadable(request)
  // What else Fastify finds wrong with a request, such as a body that ends early.
  if (error.statusCode !== undefined && error.statusCode < 500) return unreadable(request)
  return failure.internalError
}

function unreadable(request: FastifyRequest): Failure {
  return request.routeOptions.config.unreadable ?? failure.badRequest
}
