import type { FastifySchema } from 'fastify'
import Type from 'typebox'
import { Book } from './book.ts'
import { type Answer, envelopeSchema, failure } from './envelope.ts'

/** The data of an answer that has none. */
export const NoData = Type.Null()

export const Books = Type.Array(Book)

/** The endpoint's part of the contract, as its route declares it. */
interface Endpoint {
  readonly summary: string
  /** Whether it may be called without a token; by default it may not. */
  readonly public?: boolean
  readonly body?: Type.TSchema
  readonly success: Answer
  readonly data: Type.TSchema
  /** The failures of its own; those of every endpoint are added. */
  readonly failures: readonly Answer[]
}

/**
 * The route's schema: Fastify validates the body and serialises the answer with it, and the OpenAPI document is
 * made from it.
 */
export function describeEndpoint(endpoint: Endpoint): FastifySchema {
  const failures = [
    ...endpoint.failures,
    ...(endpoint.public ? [] : [failure.tokenRequired, failure.invalidToken, failure.storeUnavailable]),
    ...(endpoint.body ? [failure.bodyTooLarge] : []),
    failure.badRequest,
    failure.requestTimeout,
    failure.headersTooLarge,
    failure.internalError,
  ]
  const response: Record<number, Type.TSchema> = {
    [endpoint.success.status]: envelopeSchema([endpoint.success], endpoint.data),
  }
  for (const [status, answers] of Map.groupBy(failures, ({ status }) => status)) {
    const [first, ...others] = answers
    if (first !== undefined) response[status] = envelopeSchema([first, ...others], NoData)
  }
  return {
    summary: endpoint.summary,
    ...(endpoint.public ? { security: [] } : {}),
    ...(endpoint.body ? { body: endpoint.body } : {}),
    response,
  }
}
