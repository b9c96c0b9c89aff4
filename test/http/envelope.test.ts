import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Failure, failure, success } from '../../src/http/envelope.ts'

it('the statuses and messages are those of §4 and §7', () => {
  const table = Object.entries({ ...success, ...failure }).map(
    ([name, { status, message }]) => [name, `${status} ${message}`] as const,
  )
  assert.deepEqual(Object.fromEntries(table), {
    tokenGenerated: '200 Token generated successfully',
    bookCreated: '201 Book created successfully',
    booksRetrieved: '200 Books retrieved successfully',
    bookRetrieved: '200 Book retrieved successfully',
    bookUpdated: '200 Book updated successfully',
    bookDeleted: '200 Book deleted successfully',
    booksImported: '200 Books imported successfully',
    fileChecked: '200 File checked, nothing stored',
    statisticsRetrieved: '200 Statistics retrieved successfully',
    alive: '200 Alive',
    ready: '200 Ready',
    invalidPayload: '400 Invalid request payload',
    invalidInput: '400 Invalid input',
    tokenRequired: '401 Authorization token required',
    invalidToken: '401 Invalid token',
    invalidCredentials: '401 Invalid credentials',
    bookNotFound: '404 Book not found',
    tokenNotGenerated: '500 Could not generate token',
    badRequest: '400 Bad request',
    importRefused: '400 Import refused',
    invalidQueryParameter: '400 Invalid query parameter',
    crossOrigin: '403 Cross-origin request refused',
    notFound: '404 Not found',
    methodNotAllowed: '405 Method not allowed',
    requestTimeout: '408 Request timeout',
    preconditionFailed: '412 Precondition failed',
    bodyTooLarge: '413 Request body too large',
    unsupportedMediaType: '415 Unsupported media type',
    tooManyRequests: '429 Too many requests',
    headersTooLarge: '431 Request header fields too large',
    internalError: '500 Internal server error',
    unavailable: '503 Service unavailable',
  })
})

it('a failure is one object for all requests, so it cannot be changed and holds no stack', () => {
  for (const each of [...Object.values(failure), failure.importRefused.because('it is empty')]) {
    assert.ok(each instanceof Failure && Object.isFrozen(each))
    assert.equal(each.stack, undefined)
  }
})
