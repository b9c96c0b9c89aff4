import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { StoreUnavailable } from '../catalogue/store.ts'
import { COMMON_HEADERS, envelope, Failure, failure } from './envelope.ts'
import type { FailureLog } from './failure-log.ts'
import { closeAfterResponse, dropRest } from './protocol/close.ts'
import { InvalidBody } from './valid-input.ts'

/** The value of Retry-After in a 503, in seconds. */
const RETRY_AFTER = 1

/**
 * The challenge of a 401 (RFC 9110 §11.6.1). The scheme is our own, because the token is sent without one. Bearer would
 * make clients send `Bearer …`, which is refused. Basic would make browsers ask their user for a password.
 */
const CHALLENGE = 'Token realm="books"'

/** Appended to the challenge if the client has sent a scheme before the token, as most other services require. */
const SCHEME_HINT =
  ', error="invalid_request", error_description="Send the token alone, without Bearer or another scheme before it"'

/** The fields that stay when a failure is sent in place of a response. All others describe that response. */
const KEPT = /^(?:access-control-.*|allow|connection|retry-after|vary|x-request-id|x-stored)$/

/** Safe methods (RFC 9110 §9.2.1): they store nothing. */
const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS']

/** After these failures the end of the request is not known, so the connection is closed. */
const CLOSING = new Set<Failure>([failure.badRequest, failure.headersTooLarge, failure.requestTimeout])

/** Turns whatever is thrown for a request into a failure response from the table in envelope.ts. */
export function handleErrors(app: FastifyInstance, failures: FailureLog): void {
  app.setErrorHandler<FastifyError | Failure>((error, request, reply) => {
    const response = failureOf(error, request)
    if (response.status >= 500 && error !== response && !isAbandoned(error, request))
      failures.add(error, request, response.message)
    for (const name of Object.keys(reply.getHeaders())) if (!KEPT.test(name)) reply.removeHeader(name)
    reply.headers(COMMON_HEADERS)
    if (response.status === 401) {
      const hasScheme = /^(?:bearer$|[\w-]+ )/i.test(request.headers.authorization ?? '')
      reply.header('www-authenticate', hasScheme ? CHALLENGE + SCHEME_HINT : CHALLENGE)
    }
    // The contract fixes the messages of these two, so the reason is in a field.
    if (response === failure.invalidInput || response === failure.invalidPayload) {
      const reason = reasonOf(error as FastifyError)
      reply.header('x-invalid-input', reason)
      request.log.debug({ reason }, 'the body was refused')
    }
    if (response === failure.unavailable) {
      reply.header('retry-after', RETRY_AFTER)
      if (SAFE_METHODS.includes(request.method)) reply.removeHeader('x-stored')
      else if (!reply.hasHeader('x-stored')) reply.header('x-stored', isStored(error))
    }
    if (CLOSING.has(response)) {
      reply.header('connection', 'close')
      closeAfterResponse(request.raw.socket)
    } else keepConnection(request, reply)
    return reply.code(response.status).send(envelope(response, null))
  })
}

/** Whether the error only means that a query was cancelled because the client of this request has disconnected. */
export function isAbandoned(error: unknown, { signal }: { readonly signal: AbortSignal }): boolean {
  return signal.aborted && error === signal.reason
}

function failureOf(error: FastifyError | Failure, request: FastifyRequest): Failure {
  if (error instanceof Failure) return error
  if (error instanceof StoreUnavailable) return failure.unavailable
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return failure.bodyTooLarge
  // The schema or the parser has refused the body, for example because it ends early.
  if (error.statusCode !== undefined && error.statusCode < 500)
    return request.routeOptions.config.unreadable ?? failure.badRequest
  return failure.internalError
}

/** What is known of a failed write, so that the client knows whether it can simply repeat it. */
function isStored(error: Error): 'no' | 'unknown' {
  return error instanceof StoreUnavailable && !error.nothingWritten ? 'unknown' : 'no'
}

/** Keeps the connection open. Fastify would close it, and a client still sending its body would lose the response. */
function keepConnection(request: FastifyRequest, reply: FastifyReply): void {
  if (reply.getHeader('connection') !== 'close') return
  reply.removeHeader('connection')
  dropRest(request.raw)
}

/**
 * Why a body was refused, for the field X-Invalid-Input. It is ASCII and contains nothing that the client has sent,
 * which may be a password or not fit for a header.
 */
function reasonOf(error: FastifyError): string {
  if (error instanceof InvalidBody) return error.message
  if (error.code === 'FST_ERR_CTP_INVALID_JSON_BODY')
    return 'the body is not JSON in UTF-8, or has more values than a book'
  return 'the body did not arrive as announced'
}
