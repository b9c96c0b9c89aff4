import type {
  FastifySchema,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteShorthandOptionsWithHandler,
} from 'fastify'
import { type ObjectSchema, partialSchema, type Schema } from '../../catalogue/json-schema.ts'
import { FORMATS, MEDIA_TYPES } from '../../files/formats.ts'
import { envelopeSchema, failure, type StatusLine } from '../envelope.ts'
import { searchIndexHeader } from '../search-index-header.ts'

/** An endpoint as `app.get` and the like take it: its schema, its hooks and its handler. */
export type Endpoint<Parts extends RouteGenericInterface = RouteGenericInterface> =
  RouteShorthandOptionsWithHandler<
    RawServerDefault,
    RawRequestDefaultExpression,
    RawReplyDefaultExpression,
    Parts
  >

/** The data of an answer without any. */
export const NoData: Schema = { type: 'null', examples: [null] }

/** The header fields that make a request conditional. They are only documented: a malformed one is no error. */
export const PreconditionFields = partialSchema({
  'If-Match': {
    type: 'string',
    description:
      'Entity tags. The request is carried out only if the book has one of them (RFC 9110 §13.1.1).',
  },
  'If-None-Match': {
    type: 'string',
    description:
      'Entity tags. The request is carried out only if the book has none of them (RFC 9110 §13.1.2).',
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

declare module 'fastify' {
  interface FastifySchema {
    /** The parts of a request that the endpoint checks itself. Fastify only documents them. */
    describedOnly?: { querystring?: ObjectSchema<unknown>; body?: object; consumes?: readonly string[] }
  }
}

/** What the contract says about an endpoint. */
interface Description {
  /** The name of the call in clients that are generated from the OpenAPI document. */
  readonly id: string
  readonly summary: string
  /** Whether it can be called without a token. */
  readonly public?: boolean
  /** The schemas of its query parameters. */
  readonly query?: ObjectSchema<unknown>
  readonly body?: Schema
  readonly success: StatusLine
  /** Another answer of success, with the same status. */
  readonly otherSuccess?: StatusLine
  readonly data: Schema
  /** Whether the answer of success has the entity tag of the book. */
  readonly tagged?: boolean
  /** Whether the endpoint reads books from a file, or can also write them as one. */
  readonly files?: 'read' | 'written'
  /** Whether the answer may lack the last writes, because it comes from an index. */
  readonly indexed?: boolean
  /** Whether it answers 304 to a client that already has the book. */
  readonly revalidated?: boolean
  /** Its own failures. Those that every endpoint has are added. */
  readonly failures: readonly StatusLine[]
}

/**
 * Makes the schema of the route. Fastify validates the body and serialises the answer with it, and the OpenAPI document
 * is made from it.
 */
export function describeEndpoint(endpoint: Description): FastifySchema {
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
  const { data, success, otherSuccess } = endpoint
  const successes = [success, ...(otherSuccess ? [otherSuccess] : [])] as const
  const response: Record<number, Schema> = {
    [success.status]: {
      ...(endpoint.files === 'written' ? withFiles : unchanged)(
        envelopeSchema(successes, reference(data), example(data)),
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

function described({ query, files }: Description): Pick<FastifySchema, 'describedOnly'> | undefined {
  if (query === undefined) return undefined
  if (files !== 'read') return { describedOnly: { querystring: query } }
  const body = { content: Object.fromEntries(FORMATS.map((format) => [MEDIA_TYPES[format], FILE])) }
  return { describedOnly: { querystring: query, body } }
}

const FILE = { schema: { type: 'string' } }

const unchanged = (schema: Schema) => schema

/** The same answer as a file, for clients that prefer one. */
function withFiles(schema: Schema): Schema {
  const files = Object.fromEntries(FORMATS.map((format) => [MEDIA_TYPES[format], FILE]))
  return { ...schema, content: { 'application/json': { schema, example: example(schema) }, ...files } }
}

/** The schema by its name if it has one, otherwise the schema itself. */
export function reference(schema: Schema): Schema {
  return schema.$id === undefined ? schema : { $ref: `${schema.$id}#` }
}

export function example(schema: Schema): unknown {
  return schema.examples?.[0]
}
