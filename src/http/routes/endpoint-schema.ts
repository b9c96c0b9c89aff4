import type {
  FastifySchema,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteShorthandOptionsWithHandler,
} from 'fastify'
import { BookId } from '../../catalogue/book.ts'
import type { ObjectSchema, Schema } from '../../catalogue/json-schema.ts'
import { envelopeSchema, type Failure, failure, type StatusLine } from '../envelope.ts'
import { Component } from '../openapi.ts'
import { failureResponses, messagesOf } from './failure-responses.ts'
import { type HeaderName, headers } from './response-headers.ts'

/** The schema, hooks and handler of a route, as `app.get` and the like take them. */
export type Endpoint<Parts extends RouteGenericInterface = RouteGenericInterface> =
  RouteShorthandOptionsWithHandler<
    RawServerDefault,
    RawRequestDefaultExpression,
    RawReplyDefaultExpression,
    Parts
  >

interface Description {
  /** Names the function in clients that are generated from the OpenAPI document. */
  readonly id: string
  readonly summary: string
  /** What the summary leaves out, for a reader of the document. */
  readonly description: string
  /** Its group in the document. Only 'Books', the default, needs a token. */
  readonly tag?: 'Login' | 'Books' | 'Health'
  /** Whether its path has the id of a book. */
  readonly ofBook?: boolean
  readonly query?: ObjectSchema<unknown>
  readonly body?: Schema
  /** Several have the same status. */
  readonly success: StatusLine | readonly [StatusLine, ...StatusLine[]]
  readonly data: Schema
  /** Header fields of a successful response, besides those of every response. */
  readonly headers?: readonly HeaderName[]
  /** Whether it stores nothing (RFC 9110 §9.2.1). */
  readonly readsOnly?: boolean
  /** Besides those that every endpoint has. */
  readonly failures: readonly Failure[]
  /** Additions to the Operation Object. */
  readonly operation?: {
    readonly requestBody?: object
    readonly responses?: Readonly<Record<string, object>>
  }
}

/**
 * Makes the schema with which Fastify validates the body and serialises the response. The OpenAPI document has the same
 * schemas, and also describes what the handler checks: ids and preconditions (404, 412), and query parameters.
 */
export function describeEndpoint(endpoint: Description): FastifySchema {
  const {
    id,
    tag = 'Books',
    summary,
    description,
    body,
    success,
    data,
    readsOnly = false,
    operation,
  } = endpoint
  const isPublic = tag !== 'Books'
  const successes = 'status' in success ? ([success] as const) : success
  const [{ status }] = successes
  const response = envelopeSchema(successes, reference(data), example(data) ?? null)
  const failures = [
    ...endpoint.failures,
    ...(isPublic ? [] : [failure.tokenRequired, failure.invalidToken]),
    ...(body ? [failure.bodyTooLarge] : []),
    failure.badRequest,
    failure.requestTimeout,
    failure.headersTooLarge,
    failure.internalError,
    // The endpoints for supervisors are served under overload too, and /healthz does not use the store.
    ...(tag === 'Health' ? [] : [failure.unavailable]),
  ]
  return {
    ...(body && { body: reference(body) }),
    response: { [status]: response },
    operation: {
      operationId: id,
      tags: [tag],
      summary,
      description,
      ...(isPublic && { security: [] }),
      parameters: [...(endpoint.ofBook ? OF_BOOK : []), ...queryParameters(endpoint.query)],
      ...(body && {
        requestBody: { required: true, content: { 'application/json': { schema: reference(body) } } },
      }),
      ...operation,
      responses: {
        [status]: {
          description: messagesOf(successes),
          headers: headers(...(endpoint.headers ?? [])),
          content: {
            'application/json': {
              schema: new Component(
                'schemas',
                `${id.replace(/^./, (letter) => letter.toUpperCase())}Envelope`,
                response,
              ),
            },
          },
        },
        ...failureResponses(failures, readsOnly),
        ...operation?.responses,
      },
    },
  }
}

/** A reference to the schema if it has a name, otherwise the schema itself. */
export function reference(schema: Schema): Schema {
  return schema.$id === undefined ? schema : { $ref: `${schema.$id}#` }
}

export function example(schema: Schema): unknown {
  return schema.examples?.[0]
}

const parameter = (name: string, location: 'header' | 'path', { description, ...schema }: Schema) =>
  new Component('parameters', name, {
    name,
    in: location,
    description,
    required: location === 'path',
    schema,
  })

const entityTags = (which: string): Schema => ({
  type: 'string',
  description: `Entity tags. The request is carried out only if the book has ${which}.`,
})

const OF_BOOK = [
  parameter('id', 'path', BookId),
  parameter('If-Match', 'header', entityTags('one of them (RFC 9110 §13.1.1)')),
  parameter('If-None-Match', 'header', entityTags('none of them (RFC 9110 §13.1.2)')),
]

function queryParameters(query: ObjectSchema<unknown> | undefined): object[] {
  const schemas: Readonly<Record<string, Schema>> = query?.properties ?? {}
  return Object.entries(schemas).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    description,
    schema,
  }))
}
