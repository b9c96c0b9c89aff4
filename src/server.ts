import { isUtf8 } from 'node:buffer'
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { registerApi, type Services } from './api.ts'
import type { LogLevel } from './config.ts'
import { dropRest, nonconformance, noteRequest, refuseConnection, refuseUnroutable } from './connection.ts'
import { envelope, Failure, failure } from './envelope.ts'
import { registerOpenApi } from './openapi.ts'
import { output } from './output.ts'
import { collectPaths, literalPath } from './routing.ts'
import { StoreUnavailable } from './store/store.ts'

/** Limits on what a client may send; sizes in bytes, times in milliseconds. */
const LIMITS = {
  body: 1024 * 1024,
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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What answers a body that cannot be read as the route's schema says; a route without one has no body. */
    unreadable?: Failure
  }
}

/** The HTTP service, not yet listening. */
export async function createServer(services: Services, logLevel: LogLevel): Promise<FastifyInstance> {
  const app = fastify({
    logger: { level: logLevel, stream: output },
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
    clientErrorHandler: refuseConnection,
  })
  refuseUnroutable(app.server, app.routing)

  const refuseOtherMethods = collectPaths(app)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (request, body, done) => {
    const value = parseJson(body)
    if (value === undefined) done(unreadable(request))
    else done(null, value)
  })
  app.addHook('onRequest', (request, _reply, done) => {
    noteRequest(request.raw)
    const refusal = nonconformance(request.raw, LIMITS.headers)
    if (refusal !== undefined) return done(refusal)
    // The router takes /book/ for /book/:id with an empty id.
    if (request.is404 || (request.params as { id?: string }).id === '') return done(failure.notFound)
    // The body is JSON whatever the header says, or if there is none.
    request.headers['content-type'] = undefined
    done()
  })
  app.setNotFoundHandler(() => {
    throw failure.notFound
  })
  app.setErrorHandler<FastifyError | Failure>((error, request, reply) => {
    const answer = failureOf(error, request)
    if (answer.status >= 500 && error !== answer) request.log.error({ err: error }, answer.message)
    if (answer === failure.storeUnavailable) reply.header('retry-after', RETRY_AFTER)
    if (CLOSING.has(answer)) reply.header('connection', 'close')
    else if (app.server.listening) keepConnection(request, reply)
    return reply.code(answer.status).send(envelope(answer, null))
  })

  await registerOpenApi(app)
  registerApi(app, services)
  refuseOtherMethods()
  return app
}

/** What is refused in such a way that the end of the request is not known. */
const CLOSING = new Set<Failure>([failure.badRequest, failure.headersTooLarge])

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
  if (error instanceof StoreUnavailable) return failure.storeUnavailable
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return failure.bodyTooLarge
  if (error.validation !== undefined) return unreadable(request)
  // What else Fastify finds wrong with a request, such as a body that ends early.
  if (error.statusCode !== undefined && error.statusCode < 500) return unreadable(request)
  return failure.internalError
}

function unreadable(request: FastifyRequest): Failure {
  return request.routeOptions.config.unreadable ?? failure.badRequest
}

/** @returns the JSON value, or undefined if the bytes are not JSON in UTF-8 (RFC 8259 §8.1). */
function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
