import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addCorsHeaders } from './cors.ts'
import { COMMON_HEADERS, type Failure, failure } from './envelope.ts'
import type { ByteBudget } from './protocol/byte-budget.ts'
import { announceClose } from './protocol/close.ts'
import type { Services } from './services.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is served even while the event loop is late. */
    alwaysServed?: boolean
    /** Whether the route requires a token and uses the store. */
    ofBooks?: boolean
    /** Whether the handler reads the body itself, which may be of any type and size. */
    streamed?: boolean
    /** The response to a body that is malformed or does not match the schema. Routes without a body leave it out. */
    unreadable?: Failure
  }
}

/** A request id from outside that is safe in a header and a log line as it is. */
const ACCEPTABLE_ID = /^[\w.:/+=@-]{1,128}$/

/** The beginning of all new ids of this thread. A number follows, because a random id for each takes longer. */
const ID_PREFIX = randomUUID().slice(0, 24)
let lastRequest = 0

/** A host and a port as in a URI, but without commas: Node joins the values of repeated fields with a comma. */
const HOST = /^(?:[\w.~!$&'()*+;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/** Responses of up to this many UTF-16 code units are not counted in the budget. Any number of them is harmless. */
const MAX_UNCOUNTED = 16 * 1024

/** The event loop is late if its mean delay is larger than this twice in a row; in milliseconds. */
const MAX_DELAY = 500

/** How often the mean delay is read, and the resolution of the measurement, in milliseconds. */
const [INTERVAL, RESOLUTION] = [500, 10]

interface GateOptions {
  readonly services: Pick<Services, 'auth' | 'books'>
  /** The origins whose web pages may call the service; `*` for all. */
  readonly corsOrigins: readonly string[]
  /** The maximum size of the header section, in bytes. */
  readonly headerLimit: number
  /** For all responses that clients have not read yet. */
  readonly responses: ByteBudget
}

/**
 * Checks every request before its body is read, and every response before it is sent. Call it before the routes are
 * registered.
 */
export function addGate(app: FastifyInstance, options: GateOptions): void {
  const { auth, books } = options.services
  const { corsOrigins, headerLimit, responses } = options
  const eventLoop = watchEventLoop(app)
  const allowOf = collectMethods(app)
  // Its body is ignored. By default, Fastify reads it.
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true })
  // With a handler of our own, requests for unknown paths pass the hooks too.
  app.setNotFoundHandler(neverCalled)

  app.addHook('onRequest', (request, reply, done) => {
    const { headers, raw, routeOptions } = request
    const { config } = routeOptions
    reply.header('x-request-id', request.id).headers(COMMON_HEADERS)
    const fault = nonconformance(raw, headerLimit)
    if (fault !== undefined) return done(fault)
    if (corsOrigins.length > 0 && addCorsHeaders(request, reply, corsOrigins)) {
      reply.code(204).send()
      return
    }
    if (hasNoRoute(request)) {
      const allow = allowOf(request.url)
      if (allow === '') return done(failure.notFound)
      reply.header('allow', allow)
      return done(failure.methodNotAllowed)
    }
    if (eventLoop.isLate && !config.alwaysServed) return done(failure.unavailable)
    // Without a Content-Type, Fastify passes every body to `parseBodies`.
    if (!config.streamed) headers['content-type'] = undefined
    if (!config.ofBooks) return done()
    // The value is the token alone, without a scheme (§5.4, §5.5).
    if (!headers.authorization) return done(failure.tokenRequired)
    const isValid = auth.verify(headers.authorization)
    const waiting = isValid === true ? books.opened() : admit(isValid)
    if (waiting === undefined) done()
    else waiting.then(() => done(), done)
  })

  async function admit(isValid: boolean | Promise<boolean>): Promise<void> {
    if (!(await isValid)) throw failure.invalidToken
    await books.opened()
  }

  app.addHook('onSend', (request, reply, payload, done) => {
    announceClose(request, reply)
    if (
      typeof payload !== 'string' ||
      payload.length <= MAX_UNCOUNTED ||
      responses.take(reply.raw, payload.length)
    )
      return done()
    // If this was a write, it has been done. For safe methods, the error handler removes the field.
    reply.header('x-stored', 'unknown')
    done(failure.unavailable)
  })
}

/**
 * Measures whether the event loop keeps up. While it does not, requests are refused: all would be answered too late.
 * @returns a state that is kept up to date.
 */
function watchEventLoop(app: FastifyInstance): { readonly isLate: boolean } {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION })
  const state = { isLate: false }
  let timer: NodeJS.Timeout | undefined
  app.server.once('listening', () => {
    delays.enable()
    let wasLate = false
    timer = setInterval(() => {
      // One late sample is not overload: the start, a large garbage collection or another program can take that long.
      const isLateNow = meanDelay() > MAX_DELAY
      state.isLate = wasLate && isLateNow
      wasLate = isLateNow
      delays.reset()
    }, INTERVAL).unref()
  })
  // Without any measurement, the event loop has been blocked for the whole interval.
  const meanDelay = () => (delays.count === 0 ? Number.POSITIVE_INFINITY : delays.mean / 1e6 - RESOLUTION)
  app.addHook('onClose', async () => {
    clearInterval(timer)
    delays.disable()
  })
  return state
}

/** @returns the X-Request-Id of a client or a proxy if it is acceptable, or else a new id. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && ACCEPTABLE_ID.test(given)
    ? given
    : ID_PREFIX + (++lastRequest).toString(16).padStart(12, '0')
}

/** Escapes what the router would decode or cut off. The path counts as it was sent: `/book/%31` is not `/book/1`. */
export function literalPath({ url = '/' }: Pick<IncomingMessage, 'url'>): string {
  // The router would treat the asterisk, which is for OPTIONS (RFC 9112 §3.2.4), as the root.
  return url === '*' ? '/*' : url.replaceAll('%', '%25').replaceAll('#', '%23')
}

/** @returns a function that gives the value of Allow for the path of a URL (RFC 9110 §15.5.6), empty if no route has it. */
function collectMethods(app: FastifyInstance): (url: string) => string {
  const routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+').replace('*', '.*')
    routes.push({ pattern: new RegExp(`^${pattern}$`), methods: [method].flat() })
  })
  return (url) => {
    const [path = ''] = url.split('?')
    const found = routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)
    return found.sort().join(', ')
  }
}

function neverCalled(): never {
  throw failure.notFound
}

/** Whether no route has this path and method. The router treats /book/ as /book/:id with an empty id. */
const hasNoRoute = ({ is404, params }: FastifyRequest) => is404 || (params as { id?: string }).id === ''

/** Finds requests that Node's parser accepts although they do not conform to HTTP/1.0 or 1.1, or are over the limit. */
function nonconformance(
  { httpVersion, headers, rawHeaders, url = '' }: IncomingMessage,
  headerLimit: number,
): Failure | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return failure.badRequest
  // The absolute form is for proxies, and this is not one. `*` is for OPTIONS (RFC 9112 §3.2).
  if (!url.startsWith('/') && url !== '*') return failure.badRequest
  // Node would treat any other coding as chunked. HTTP/1.0 has none (RFC 9112 §6.1).
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return failure.badRequest
  // A request has exactly one valid Host. Only HTTP/1.0 may omit it (RFC 9112 §3.2).
  if (headers.host === undefined ? httpVersion === '1.1' : !HOST.test(headers.host)) return failure.badRequest
  // Node's own limit does not count the colon, the space and the line ending of each field.
  let size = 2 * rawHeaders.length
  for (const part of rawHeaders) size += part.length
  return size > headerLimit ? failure.headersTooLarge : undefined
}
