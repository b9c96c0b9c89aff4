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
import { FORMATS, MEDIA_TYPES } from '../../files/formats.ts'
import { envelopeSchema, type Failure, failure, type StatusLine } from '../envelope.ts'
import { Component } from '../openapi.ts'
import { failureResponses, messagesOf } from './failure-responses.ts'
import { type HeaderName, headers } from './response-headers.ts'

/** An endpoint as `app.get` and the like take it: its schema, its hooks and its handler. */
export type Endpoint<Parts extends RouteGenericInterface = RouteGenericInterface> =
  RouteShorthandOptionsWithHandler<
    RawServerDefault,
    RawRequestDefaultExpression,
    RawReplyDefaultExpression,
    Parts
  >

/** What the contract says about an endpoint. */
interface Description {
  /** The name of the call in clients that are generated from the OpenAPI document. */
  readonly id: string
  readonly summary: string
  readonly description?: string
  /** Its group in the document. Only the books need a token; it is the default. */
  readonly tag?: 'Login' | 'Books' | 'Health'
  /** Whether its path names a book. */
  readonly ofBook?: boolean
  /** The schemas of its query parameters. */
  readonly query?: ObjectSchema<unknown>
  readonly body?: Schema
  /** The schema that the body is checked with, if it accepts more than clients should send. */
  readonly accepted?: Schema
  /** Whether the body is a file of books, which the endpoint reads itself. */
  readonly readsFile?: boolean
  readonly success: StatusLine
  /** Another response of success, with the same status. */
  readonly otherSuccess?: StatusLine
  readonly data: Schema
  /** The header fields that the response of success has beside those of every response. */
  readonly headers?: readonly HeaderName[]
  /** Whether the response is 304 to a client that already has the book. */
  readonly revalidated?: boolean
  /** Whether it stores nothing (RFC 9110 §9.2.1). */
  readonly readsOnly?: boolean
  /** Its own failures. Those that every endpoint has are added. */
  readonly failures: readonly Failure[]
}

/**
 * Makes the schema of the route. Fastify validates the body and serialises the response with it. The OpenAPI document has
 * the same schemas, and describes what the endpoint checks itself: ids and preconditions (404, 412), query parameters.
 */
export function describeEndpoint(endpoint: Description): FastifySchema {
  const {
    id,
    tag = 'Books',
    summary,
    description,
    body,
    success,
    otherSuccess,
    data,
    readsOnly = false,
  } = endpoint
  const isPublic = tag !== 'Books'
  const successes = [success, ...(otherSuccess ? [otherSuccess] : [])] as const
  const response = envelopeSchema(successes, reference(data), example(data) ?? null)
  const failures = [
    ...endpoint.failures,
    ...(isPublic ? [] : [failure.tokenRequired, failure.invalidToken]),
    ...(body ? [failure.bodyTooLarge] : []),
    failure.badRequest,
    failure.requestTimeout,
    failure.headersTooLarge,
    failure.internalError,
    // Those for supervisors are served under overload too, and not all of them use the store.
    ...(tag === 'Health' ? [] : [failure.unavailable]),
  ]
  return {
    ...(body && { body: reference(endpoint.accepted ?? body) }),
    response: { [success.status]: response },
    operation: {
      operationId: id,
      tags: [tag],
      summary,
      description,
      ...(isPublic && { security: [] }),
      parameters: [...(endpoint.ofBook ? OF_BOOK : []), ...queryParameters(endpoint.query)],
      requestBody: requestBody(endpoint),
      responses: {
        [success.status]: {
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
        ...(endpoint.revalidated && { 304: { description: 'Not modified', headers: headers('ETag') } }),
        ...failureResponses(failures, readsOnly),
      },
    },
  }
}

/** The schema by its name if it has one, otherwise the schema itself. */
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

/** A file of books. A JSON array is read too, but clients that are made from the document cannot send both kinds. */
const FILE = {
  type: 'string',
  format: 'binary',
  description:
    'The text is in UTF-8 or UTF-16, or in the `charset` that the media type has as a parameter. ' +
    'An array of books as `application/json` is read too.',
}

function requestBody({ body, readsFile }: Description): object | undefined {
  if (readsFile) {
    const content = FORMATS.map((format) => [MEDIA_TYPES[format], { schema: FILE }])
    return { required: true, content: Object.fromEntries(content) }
  }
  return body && { required: true, content: { 'application/json': { schema: reference(body) } } }
}
