import { randomUUID } from 'node:crypto'
import { type IncomingMessage, METHODS } from 'node:http'
import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify'
import { addCorsHeaders } from './cors.ts'
import { COMMON_HEADERS, type Failure, failure } from './envelope.ts'
import { watchEventLoop } from './event-loop.ts'
import type { ByteBudget } from './protocol/byte-budget.ts'
import { announceClose } from './protocol/close.ts'
import type { Services } from './services.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The methods of the path, in a route for all others. */
    allow?: string
    /** Whether the route is served even while the event loop is late. */
    alwaysServed?: boolean
    /** Whether the route is for those who have a token, and uses the store. */
    ofBooks?: boolean
  }
}

/** An id from outside that can go into a header and a log line as it is. */
const ACCEPTABLE_ID = /^[\w.:/+=@-]{1,128}$/

/** A host and a port as in a URI, but without commas: a comma joins the values of several headers. */
const HOST = /^(?:[\w.~!$&'()*+;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/** A response up to this size takes nothing of the budget, in bytes. It is no danger, however many there are. */
const UNCOUNTED = 16 * 1024

export interface GateOptions {
  readonly services: Pick<Services, 'auth' | 'books'>
  /** Whose pages may call the service; `*` for all. */
  readonly corsOrigins: readonly string[]
  /** The largest header block, in bytes. */
  readonly headerLimit: number
  /** For all responses that clients have not taken. */
  readonly responses: ByteBudget
}

/** Every request passes here before its body is read, and every response before it is sent. */
export function addGate(app: FastifyInstance, options: GateOptions): void {
  const { auth, books } = options.services
  const { corsOrigins, headerLimit, responses } = options
  const eventLoop = watchEventLoop(app)

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
    if (isUnknown(request)) return done(failure.notFound)
    if (config.allow !== undefined) {
      reply.header('allow', config.allow)
      return done(failure.methodNotAllowed)
    }
    if (eventLoop.isLate && !config.alwaysServed) return done(failure.unavailable)
    // Fastify then takes every body to `parseBodies`, whatever its type.
    if (!config.streamed) headers['content-type'] = undefined
    if (!config.ofBooks) return done()
    // The token comes as it is (§5.4, §5.5).
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
      payload.length <= UNCOUNTED ||
      responses.take(reply.raw, payload.length)
    )
      return done()
    // These header fields belonged to the response that is not sent.
    reply.headers(COMMON_HEADERS).removeHeader('etag')
    // A write was done before.
    reply.header('x-stored', 'unknown')
    done(failure.unavailable)
  })
}

/** @returns the id that a client or a proxy gave the request in X-Request-Id, or else a new one. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && ACCEPTABLE_ID.test(given) ? given : randomUUID()
}

/**
 * Escapes what the router would decode or cut off. It then takes the path as it was sent: `/book/%31` is not `/book/1`.
 */
export function literalPath({ url = '/' }: Pick<IncomingMessage, 'url'>): string {
  // The router would take the asterisk for the root. It is for OPTIONS (RFC 9112 §3.2.4).
  if (url === '*') return '/*'
  if (!/[%#]/.test(url)) return url
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  return path.replaceAll('%', '%25').replaceAll('#', '%23') + url.slice(path.length)
}

/**
 * Notes the paths of all routes that are registered from now on.
 * @returns a function that adds a route to each for all other methods, which says what is allowed (RFC 9110 §15.5.6).
 */
export function collectPaths(app: FastifyInstance): () => void {
  const paths = new Set<string>()
  app.addHook('onRoute', ({ url }) => {
    paths.add(url)
  })
  // CONNECT never reaches the router.
  const methods = METHODS.filter((method) => method !== 'CONNECT')
  for (const method of methods) {
    const hasBody = ['POST', 'PUT', 'PATCH'].includes(method)
    app.addHttpMethod(method, { hasBody, overrideExisting: true })
  }
  // With a handler of ours, paths without a route pass the hooks too.
  app.setNotFoundHandler(refuse)
  return () => {
    for (const url of [...paths]) {
      const allowed = methods.filter((method) => app.hasRoute({ url, method: method as HTTPMethods }))
      const others = methods.filter((method) => !allowed.includes(method))
      app.route({ url, method: others, config: { allow: allowed.join(', ') }, handler: refuse })
    }
  }
}

/** Never runs, because the gate refuses before. */
function refuse(): never {
  throw failure.notFound
}

/** Whether there is no such path. The router takes /book/ for /book/:id with an empty id. */
const isUnknown = ({ is404, params }: FastifyRequest) => is404 || (params as { id?: string }).id === ''

/**
 * Refuses what Node's parser lets pass although it is no request of HTTP/1.0 or 1.1, or is over the limit.
 * @returns undefined if nothing is wrong with the request.
 */
function nonconformance(
  { httpVersion, headers, rawHeaders, url = '' }: IncomingMessage,
  headerLimit: number,
): Failure | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return failure.badRequest
  // The absolute form is for proxies, and this is none. `*` is for OPTIONS (RFC 9112 §3.2).
  if (!url.startsWith('/') && url !== '*') return failure.badRequest
  // Node would take any other coding for chunked. HTTP/1.0 has none (RFC 9112 §6.1).
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return failure.badRequest
  // A request has one valid Host. Only HTTP/1.0 may leave it out (RFC 9112 §3.2).
  if (headers.host === undefined ? httpVersion === '1.1' : !HOST.test(headers.host)) return failure.badRequest
  // Node does not count the colon, the space and the end of each line.
  let size = 2 * rawHeaders.length
  for (const part of rawHeaders) size += part.length
  return size > headerLimit ? failure.headersTooLarge : undefined
}
