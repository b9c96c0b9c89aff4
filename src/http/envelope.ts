import { objectSchema, type Schema } from '../catalogue/json-schema.ts'

/** A status code and its message: a row of the contract's tables (§4, §7). */
export interface StatusLine {
  readonly status: number
  readonly message: string
}

/** The body of every response (§2). */
export interface Envelope<Data> extends StatusLine {
  readonly data: Data
}

/** The responses to successful requests. Each endpoint defines their `data`. */
export const success = {
  tokenGenerated: { status: 200, message: 'Token generated successfully' },
  bookCreated: { status: 201, message: 'Book created successfully' },
  booksRetrieved: { status: 200, message: 'Books retrieved successfully' },
  bookRetrieved: { status: 200, message: 'Book retrieved successfully' },
  bookUpdated: { status: 200, message: 'Book updated successfully' },
  bookDeleted: { status: 200, message: 'Book deleted successfully' },
  statisticsRetrieved: { status: 200, message: 'Statistics retrieved successfully' },
  booksImported: { status: 200, message: 'Books imported successfully' },
  fileChecked: { status: 200, message: 'File checked, nothing stored' },
  alive: { status: 200, message: 'Alive' },
  ready: { status: 200, message: 'Ready' },
} as const satisfies Record<string, StatusLine>

/** Thrown when a request fails. All requests share one frozen instance without a stack, unless it is given a reason. */
export class Failure extends Error implements StatusLine {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'Failure'
    this.status = status
    delete this.stack
    Object.freeze(this)
  }

  /** @returns a failure with the same status, and with a colon and the reason after the message. */
  because(reason: string): Failure {
    return new Failure(this.status, `${this.message}: ${reason}`)
  }
}

/** The responses to failed requests. Their `data` is null (§7). */
export const failure = {
  // From the contract.
  invalidPayload: new Failure(400, 'Invalid request payload'),
  invalidInput: new Failure(400, 'Invalid input'),
  tokenRequired: new Failure(401, 'Authorization token required'),
  invalidToken: new Failure(401, 'Invalid token'),
  invalidCredentials: new Failure(401, 'Invalid credentials'),
  bookNotFound: new Failure(404, 'Book not found'),
  tokenNotGenerated: new Failure(500, 'Could not generate token'),
  // Where the contract is silent (docs/decisions.md).
  badRequest: new Failure(400, 'Bad request'),
  // The next two are thrown with a reason.
  importRefused: new Failure(400, 'Import refused'),
  invalidQueryParameter: new Failure(400, 'Invalid query parameter'),
  crossOrigin: new Failure(403, 'Cross-origin request refused'),
  notFound: new Failure(404, 'Not found'),
  methodNotAllowed: new Failure(405, 'Method not allowed'),
  requestTimeout: new Failure(408, 'Request timeout'),
  preconditionFailed: new Failure(412, 'Precondition failed'),
  bodyTooLarge: new Failure(413, 'Request body too large'),
  unsupportedMediaType: new Failure(415, 'Unsupported media type'),
  tooManyRequests: new Failure(429, 'Too many requests'),
  headersTooLarge: new Failure(431, 'Request header fields too large'),
  internalError: new Failure(500, 'Internal server error'),
  unavailable: new Failure(503, 'Service unavailable'),
} as const satisfies Record<string, Failure>

/** Fields of every response. Single books and the web page replace Cache-Control. */
export const COMMON_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

export function envelope<Data>({ status, message }: StatusLine, data: Data): Envelope<Data> {
  return { status, message, data }
}

export const NoData: Schema = { type: 'null' }

/** @param responses share one status. Each may have a message of its own. */
export function envelopeSchema(
  responses: readonly [StatusLine, ...StatusLine[]],
  data: Schema,
  exampleData: unknown,
): Schema {
  const { status } = responses[0]
  const messages = responses.map(({ message }) => message)
  const message = messages.length === 1 ? { const: messages[0] } : { enum: messages }
  return objectSchema<Envelope<unknown>>(
    { status: { type: 'integer', const: status }, message: { type: 'string', ...message }, data },
    { examples: responses.map((response) => envelope(response, exampleData)) },
  )
}

export const FailureEnvelope = objectSchema<Envelope<null>>({
  status: { type: 'integer', minimum: 400, maximum: 599 },
  message: { type: 'string' },
  data: NoData,
})
