import assert from 'node:assert/strict'

/** A running implementation of the contract and its account. */
export interface Target {
  readonly name: string
  readonly url: string
  readonly username: string
  readonly password: string
  /** The token signing secret, for the tests that make tokens of their own; without it they are skipped. */
  readonly secret?: string
}

/** The implementations to test, from the environment variable SPEC_TARGETS (see run.ts). */
export function targets(): Target[] {
  const json = process.env.SPEC_TARGETS
  if (json === undefined)
    throw new Error('SPEC_TARGETS is not set: run this suite with npm test or npm run test:spec')
  return JSON.parse(json)
}

/** @typeParam Data what the test expects as data; a black box may answer anything else. */
export interface Reply<Data = unknown> {
  readonly status: number
  readonly headers: Headers
  readonly body: { status: number; message: string; data: Data }
}

/** A stored book, as §2 describes it. */
export interface Book {
  readonly id: number
  readonly title: string
  readonly author: string
  readonly year: number
}

export interface Options {
  /** Undefined for none. */
  readonly token?: string | undefined
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as it is. */
  readonly text?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Record<string, string>
}

/** Sends a request and checks what holds for every response. */
export async function call<Data = unknown>(
  target: Target,
  method: string,
  path: string,
  options: Options = {},
): Promise<Reply<Data>> {
  const { token, json, text } = options
  const headers: Record<string, string> = { ...options.headers }
  if (token !== undefined) headers.authorization = token
  if (json !== undefined) headers['content-type'] ??= 'application/json'
  const body = json === undefined ? text : JSON.stringify(json)
  const response = await fetch(target.url + path, {
    method,
    headers,
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  })
  return readReply(response.status, response.headers, await response.text())
}

/** Checks what holds for every response: the envelope of §2, with null data on errors (§7). */
export function readReply<Data>(status: number, headers: Headers, text: string): Reply<Data> {
  const envelope = JSON.parse(text)
  assert.match(headers.get('content-type') ?? '', /^application\/json/)
  assert.deepEqual(Object.keys(envelope).sort(), ['data', 'message', 'status'], '§2 Response envelope')
  assert.equal(envelope.status, status, '§2: status equals the HTTP status code of the response')
  assert.equal(typeof envelope.message, 'string', '§2: message is a string')
  if (status >= 400) assert.equal(envelope.data, null, '§7: every error has data null')
  return { status, headers, body: envelope }
}

/** Checks a response's status, message and data, to the character. */
export function assertResponse(reply: Reply, status: number, message: string, data?: unknown): void {
  assert.equal(reply.body.message, message)
  assert.equal(reply.status, status)
  if (data !== undefined) assert.deepEqual(reply.body.data, data)
}

/** Checks that a query was refused with a reason. */
export function assertInvalidQuery({ status, body }: Reply): void {
  assert.match(body.message, /^Invalid query parameter: \S/)
  assert.equal(status, 400)
}

/** Logs in (§4 POST /token) and answers the token. */
export async function logIn(target: Target): Promise<string> {
  const { username, password } = target
  const reply = await call<{ token: string }>(target, 'POST', '/token', { json: { username, password } })
  assertResponse(reply, 200, 'Token generated successfully')
  return reply.body.data.token
}
