import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  LogController,
  type RouteGenericInterface,
} from 'fastify'
import { MAX_BOOK_SIZE } from '../catalogue/book.ts'
import { type Config, shareOf, type TrustProxy } from '../config.ts'
import { withContext } from '../observability/logging.ts'
import type { Metrics } from '../observability/metrics.ts'
import { handleErrors } from './error-handler.ts'
import { FailureLog } from './failure-log.ts'
import { addGate, literalPath, requestId } from './gate.ts'
import { registerOpenApi } from './openapi.ts'
import { parseBodies } from './protocol/body.ts'
import { ByteBudget } from './protocol/byte-budget.ts'
import { cut, refuseConnection, refuseUnroutable } from './protocol/close.ts'
import { connectionLimit, manageConnections } from './protocol/connections.ts'
import { createBook, deleteBook, readBook, updateBook } from './routes/books.ts'
import type { Endpoint } from './routes/endpoint-schema.ts'
import { registerHealth } from './routes/health.ts'
import { importBooks } from './routes/import-books.ts'
import { listBooks } from './routes/list-books.ts'
import { logIn } from './routes/login.ts'
import { countBooks } from './routes/statistics.ts'
import type { Services } from './services.ts'
import { registerWebPages } from './web-page/routes.ts'

const MIB = 1024 * 1024

/** Limits for each request and connection. Sizes are in bytes, times in milliseconds. */
const LIMITS = {
  body: MAX_BOOK_SIZE,
  headers: 16 * 1024,
  /** From the first byte of a request, or from the start of the connection, to the end of the headers. */
  headersTime: 10_000,
  /** From the same moment to the end of the body. */
  requestTime: 30_000,
  timeCheckInterval: 1000,
  /**
   * How long a connection may have no traffic, whether it is idle or its client does not read the response. This is
   * longer than the usual 60 seconds of proxies, so that the proxy closes an idle connection first.
   */
  idleTime: 72_000,
}

/** Limits for all threads together. Each thread has an equal share. Sizes are in bytes. */
const SHARED_LIMITS = {
  /** Requests that wait for earlier ones on their connections. Each takes over 3 kB, however small: 150 MB in all. */
  waitingRequests: 50_000,
  bodies: 64 * MIB,
  /** Responses that clients have not read. Lists in progress may grow up to the next limit. */
  responses: 64 * MIB,
  listsInProgress: 128 * MIB,
}

/** Routes give Fastify no schemas: compiling them would take a third of the CPU time of every start. */
const SCHEMA_COMPILERS = { buildValidator: noCompiler, buildSerializer: noCompiler }

function noCompiler(): never {
  throw new Error('a route has a schema for Fastify; validBody() and readQueryParameters() replace it')
}

export type ServerSettings = Pick<Config, 'logLevel' | 'trustProxy' | 'corsOrigins' | 'threads'>

export function createServer(
  services: Services,
  settings: ServerSettings,
  log: FastifyBaseLogger,
  metrics?: Metrics,
): FastifyInstance {
  const app = fastify({
    loggerInstance: log,
    childLoggerFactory: withContext,
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
      // Node would answer a request without Host itself, without the envelope, and use the first of repeated fields.
      requireHostHeader: false,
      joinDuplicateHeaders: true,
    },
    routerOptions: { maxParamLength: LIMITS.headers },
    rewriteUrl: literalPath,
    // A request that arrives on an open connection during shutdown is still served.
    return503OnClosing: false,
    schemaController: { compilersFactory: SCHEMA_COMPILERS },
    clientErrorHandler: refuseConnection,
  })

  // `clientErrorHandler` gets what Node's parser refuses. The requests of each connection are served one by one.
  refuseUnroutable(app.server, app.routing)
  app.server.on('timeout', cut)
  const share = (limit: number) => shareOf(limit, settings)
  const { waitingRequests, bodies, listsInProgress } = SHARED_LIMITS
  const limits = { connections: share(connectionLimit()), waitingRequests: share(waitingRequests) }
  manageConnections(app.server, limits, app.log)

  const responses = new ByteBudget(app.log, share(SHARED_LIMITS.responses), share(listsInProgress))
  addGate(app, { services, corsOrigins: settings.corsOrigins, headerLimit: LIMITS.headers, responses })
  parseBodies(app, new ByteBudget(app.log, share(bodies)))
  const failures = new FailureLog(app.log, async () => services.books.store.ready())
  app.addHook('onClose', async () => failures.close())
  handleErrors(app, failures)
  metrics?.countResponses(app)
  if (settings.logLevel === 'debug' || settings.logLevel === 'trace') logResponses(app)

  registerOpenApi(app)
  registerHealth(app, services)
  registerWebPages(app)
  // In the order of the contract's table (§4).
  app.post('/token', logIn(services, settings))
  app.post('/book', ofBooks(createBook(services)))
  app.get('/books', ofBooks(listBooks(services, responses, failures)))
  app.get('/books/statistics', ofBooks(countBooks(services)))
  app.post('/books/import', ofBooks(importBooks(services)))
  app.get('/book/:id', ofBooks(readBook(services)))
  app.put('/book/:id', ofBooks(updateBook(services)))
  app.delete('/book/:id', ofBooks(deleteBook(services)))
  return app
}

/** Makes the gate require a token, and wait until the store is open. */
function ofBooks<Parts extends RouteGenericInterface>(endpoint: Endpoint<Parts>): Endpoint<Parts> {
  return { ...endpoint, config: { ...endpoint.config, ofBooks: true } }
}

/** A number is how many proxies to trust, from here. `true` means one: clients can forge addresses before it. */
function trustedProxies(
  trusted: TrustProxy,
): boolean | string[] | ((address: string, hop: number) => boolean) {
  const count = trusted === true ? 1 : trusted
  return typeof count === 'number' ? (_address, hop) => hop < count : count
}

/** Logs a line for each response, without the query, and without an absolute URL, which may contain a password. */
function logResponses(app: FastifyInstance): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, ip } = request
    const path = request.originalUrl.startsWith('/') ? request.originalUrl.split('?')[0] : undefined
    request.log.debug({ method, path, ip, status: reply.statusCode, ms: reply.elapsedTime }, 'answered')
    done()
  })
}
