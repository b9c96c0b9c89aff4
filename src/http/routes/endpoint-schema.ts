import type { FastifySchema } from 'fastify'
import { Login, TokenData } from '../../auth/auth.ts'
import { Book, BookChanges, NewBook } from '../../catalogue/book.ts'
import { type ObjectSchema, partialSchema, type Schema } from '../../catalogue/json-schema.ts'
import { FORMATS, MEDIA_TYPES } from '../../files/formats.ts'
import { ImportResult } from '../../import-result.ts'
import { type Answer, envelopeSchema, failure } from '../envelope.ts'
import { searchIndexHeader } from '../search-index-header.ts'
import { BookStatistics } from './statistics.ts'

/** The schemas that the OpenAPI document names; endpoints refer to them by their `$id`. */
export const namedSchemas = [Book, NewBook, BookChanges, Login, TokenData, ImportResult, BookStatistics]

/** The data of an answer that has none. */
export const NoData: Schema = { type: 'null', examples: [null] }

/** The header fields that make a request conditional, for the document only: a malformed one is no error. */
export const ConditionFields = partialSchema({
  'If-Match': {
    type: 'string',
    description: 'Entity tags: only if the book has one of them (RFC 9110 §13.1.1).',
  },
  'If-None-Match': {
    type: 'string',
    description: 'Entity tags: only if the book has none of them (RFC 9110 §13.1.2).',
  },
})

const tagged = {
  headers: { ETag: { type: 'string', description: 'The strong entity tag of the book (RFC 9110 §8.8.3).' } },
}

const challenged = {
  headers: {
    'WWW-Authenticate': { type: 'string', description: 'The challenge (RFC 9110 §11.6.1).' },
  },
}

export const Books: Schema = { type: 'array', items: reference(Book), examples: [[example(Book)]] }

declare module 'fastify' {
  interface FastifySchema {
    /** What of a request the endpoint itself checks, and the OpenAPI document only describes. */
    describedOnly?: { querystring?: ObjectSchema<unknown>; body?: object; consumes?: readonly string[] }
  }
}

/** The endpoint's part of the contract, as its route declares it. */
interface Endpoint {
  /** Names the call in clients generated from the OpenAPI document. */
  readonly id: string
  readonly summary: string
  /** Whether it may be called without a token; by default it may not. */
  readonly public?: boolean
  /** The parameters of its query string, each with its schema. */
  readonly query?: ObjectSchema<unknown>
  readonly body?: Schema
  readonly success: Answer
  readonly data: Schema
  /** Whether the entity tag of the book goes with its success. */
  readonly tagged?: boolean
  /** Whether the books can also be had as a file, or are read from one. */
  readonly files?: 'read' | 'written'
  /** Whether the answer may be of an index that is behind. */
  readonly indexed?: boolean
  /** Whether it answers 304 to a client that has the book already. */
  readonly revalidated?: boolean
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
    ...(endpoint.public ? [] : [failure.tokenRequired, failure.invalidToken]),
    ...(endpoint.body ? [failure.bodyTooLarge] : []),
    failure.badRequest,
    failure.requestTimeout,
    failure.headersTooLarge,
    failure.internalError,
    failure.unavailable,
  ]
  const { data } = endpoint
  const response: Record<number, Schema> = {
    [endpoint.success.status]: {
      ...(endpoint.files === 'written' ? withFiles : asItIs)(
        envelopeSchema([endpoint.success], reference(data), example(data)),
      ),
      ...(endpoint.tagged ? tagged : {}),
      ...(endpoint.indexed ? { headers: searchIndexHeader } : {}),
    },
    ...(endpoint.revalidated ? { 304: { type: 'null', description: 'Not modified', ...tagged } } : {}),
  }
  for (const [status, answers] of Map.groupBy(failures, ({ status }) => status)) {
    const [first, ...others] = answers
    if (first === undefined) continue
    const schema = envelopeSchema([first, ...others], NoData, null)
    response[status] = status === 401 ? { ...schema, ...challenged } : schema
  }
  return {
    operationId: endpoint.id,
    tags: [endpoint.public ? 'Login' : 'Books'],
    summary: endpoint.summary,
    ...(endpoint.public ? { security: [] } : {}),
    ...(endpoint.body ? { body: reference(endpoint.body) } : {}),
    ...(described(endpoint) ?? {}),
    response,
  }
}

function described({ query, files }: Endpoint): Pick<FastifySchema, 'describedOnly'> | undefined {
  if (query === undefined) return undefined
  if (files !== 'read') return { describedOnly: { querystring: query } }
  const body = { content: Object.fromEntries(FORMATS.map((format) => [MEDIA_TYPES[format], FILE])) }
  return { describedOnly: { querystring: query, body } }
}

const FILE = { schema: { type: 'string' } }

const asItIs = (schema: Schema) => schema

/** The same answer as a file, for clients that prefer one. */
function withFiles(schema: Schema): Schema {
  const files = Object.fromEntries(FORMATS.map((format) => [MEDIA_TYPES[format], FILE]))
  return { ...schema, content: { 'application/json': { schema, example: example(schema) }, ...files } }
}

/** The schema by name if it has one, or else itself. */
function reference(schema: Schema): Schema {
  return schema.$id === undefined ? schema : { $ref: `${schema.$id}#` }
}

function example(schema: Schema): unknown {
  return schema.examples?.[0]
}
