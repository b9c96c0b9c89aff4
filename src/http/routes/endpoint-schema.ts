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
import {
  envelope,
  envelopeSchema,
  type Failure,
  FailureEnvelope,
  failure,
  type StatusLine,
} from '../envelope.ts'
import { Component } from '../openapi.ts'

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
  /** The Request Body Object of a body that the handler reads itself. */
  readonly requestBody?: object
}

/** A response header field, as the OpenAPI document describes it. */
const field = (description: string, schema: Schema = { type: 'string' }) => ({ description, schema })

const HEADERS = {
  ETag: field('The strong entity tag of the book (RFC 9110 §8.8.3).'),
  Link: field('Leads to the next page with `rel="next"`, if there is one (RFC 8288).'),
  Location: field('The address of the new book, relative to that of the request (RFC 9110 §10.2.2).'),
  'Retry-After': field('Seconds after which the request may be sent again.', { type: 'integer', minimum: 1 }),
  'WWW-Authenticate': field('The challenge (RFC 9110 §11.6.1).'),
  'X-Invalid-Input': field('Why the body was refused, such as `year is missing`.'),
  'X-Request-Id': field('The id that the request carried, or a new one.'),
  'X-Search-Index': field(
    'Sent only while many books are being indexed. Books that were written lately may be missing from the response, or not in their place yet.',
    { type: 'string', enum: ['incomplete'] },
  ),
  'X-Stored': field('Whether the request may have stored something.', {
    type: 'string',
    enum: ['no', 'unknown'],
  }),
  'X-Total-Count': field('The number of books on all pages, if `count` asks for it.', {
    type: 'integer',
    minimum: 0,
  }),
}

type HeaderName = keyof typeof HEADERS

/** The header fields of failures, besides those of every response. */
const FAILURE_HEADERS: Readonly<Record<number, readonly HeaderName[]>> = {
  400: ['X-Invalid-Input'],
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After', 'X-Stored'],
}

/** Example reasons for the failures whose messages end with one. */
const REASONS = new Map<Failure, string>([
  [failure.importRefused, 'the file is empty; it needs a first line with the column names'],
  [failure.invalidQueryParameter, 'limit must be an integer from 1 to 1000'],
])

/**
 * Makes the schema with which Fastify validates the body and serialises the response. The OpenAPI document has the same
 * schemas, and also describes what the handler checks: ids and preconditions (404, 412), and query parameters.
 */
export function describeEndpoint(endpoint: Description): FastifySchema {
  const { id, tag = 'Books', summary, description, ofBook, body, success, data, readsOnly = false } = endpoint
  const isPublic = tag !== 'Books'
  const successes = 'status' in success ? ([success] as const) : success
  const [{ status }] = successes
  const response = envelopeSchema(successes, reference(data), example(data) ?? null)
  const envelopeName = `${id.replace(/^./, (letter) => letter.toUpperCase())}Envelope`
  const json = body && { required: true, content: { 'application/json': { schema: reference(body) } } }
  const { requestBody = json } = endpoint
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
    operation: {
      operationId: id,
      tags: [tag],
      summary,
      description,
      ...(isPublic && { security: [] }),
      parameters: [...(ofBook ? OF_BOOK : []), ...queryParameters(endpoint.query)],
      ...(requestBody && { requestBody }),
      responses: {
        [status]: {
          description: messagesOf(successes),
          headers: headers(endpoint.headers),
          content: { 'application/json': { schema: new Component('schemas', envelopeName, response) } },
        },
        ...(ofBook && readsOnly && { 304: { description: 'Not modified', headers: headers(['ETag']) } }),
        ...failureResponses(failures, readsOnly),
      },
    },
  }
}

/** The named fields and those of every response, for a Response Object of OpenAPI. */
function headers(names: readonly HeaderName[] = []): Record<string, Component> {
  const all = [...names, 'X-Request-Id'] as const
  return Object.fromEntries(all.map((name) => [name, new Component('headers', name, HEADERS[name])]))
}

/** Describes failures by status. Endpoints that fail alike share a component. With `readsOnly`, 503 has no X-Stored. */
function failureResponses(failures: readonly Failure[], readsOnly: boolean): Record<string, Component> {
  const responses: Record<string, Component> = {}
  for (const [status, group] of Map.groupBy(failures, (each) => each.status)) {
    const examples = group.map((each) => {
      const reason = REASONS.get(each)
      return [nameOf(each), { value: envelope(reason === undefined ? each : each.because(reason), null) }]
    })
    const isOfBody = group.includes(failure.invalidInput) || group.includes(failure.invalidPayload)
    const fields = (FAILURE_HEADERS[status] ?? []).filter(
      (name) => (name !== 'X-Stored' || !readsOnly) && (name !== 'X-Invalid-Input' || isOfBody),
    )
    const suffix = fields.includes('X-Stored') ? '-with-X-Stored' : ''
    responses[status] = new Component('responses', `${group.map(nameOf).join('-or-')}${suffix}`, {
      description: messagesOf(group),
      headers: headers(fields),
      content: {
        'application/json': {
          schema: new Component('schemas', 'Failure', FailureEnvelope),
          examples: Object.fromEntries(examples),
        },
      },
    })
  }
  return responses
}

function messagesOf(responses: readonly StatusLine[]): string {
  return responses.map(({ message }) => message).join(', or ')
}

/** Such as `bookNotFound`. */
function nameOf(each: Failure): string {
  return Object.entries(failure).find(([, known]) => known === each)?.[0] ?? ''
}

/** A component of the document if the schema has a name, otherwise the schema itself. */
export function reference(schema: Schema): Schema {
  return schema.$id === undefined ? schema : new Component('schemas', schema.$id, schema)
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
