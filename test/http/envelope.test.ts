import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { envelope, Failure, failure, success } from '../../src/http/envelope.ts'

const table = (responses: Record<string, { status: number; message: string }>) =>
  Object.fromEntries(
    Object.entries(responses).map(([name, { status, message }]) => [name, `${status} ${message}`]),
  )

describe('the table of statuses and messages (§4, §7)', () => {
  it('has these answers to requests that succeed', () => {
    assert.deepEqual(table(success), {
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
    })
  })

  it("has the contract's answers to requests that fail", () => {
    const contract = {
      invalidPayload: '400 Invalid request payload',
      invalidInput: '400 Invalid input',
      tokenRequired: '401 Authorization token required',
      invalidToken: '401 Invalid token',
      invalidCredentials: '401 Invalid credentials',
      bookNotFound: '404 Book not found',
      tokenNotGenerated: '500 Could not generate token',
    }
    const known = Object.entries(table(failure)).filter(([name]) => name in contract)
    assert.deepEqual(Object.fromEntries(known), contract)
  })

  it('has our own where the contract is silent', () => {
    const own = {
      badRequest: '400 Bad request',
      importRefused: '400 Import refused',
      unsupportedMediaType: '415 Unsupported media type',
      notFound: '404 Not found',
      methodNotAllowed: '405 Method not allowed',
      requestTimeout: '408 Request timeout',
      preconditionFailed: '412 Precondition failed',
      bodyTooLarge: '413 Request body too large',
      tooManyRequests: '429 Too many requests',
      headersTooLarge: '431 Request header fields too large',
      internalError: '500 Internal server error',
      unavailable: '503 Service unavailable',
    }
    const known = Object.entries(table(failure)).filter(([name]) => name in own)
    assert.deepEqual(Object.fromEntries(known), own)
  })
})

describe('the envelope (§2)', () => {
  it('has status, message and data, and nothing else', () => {
    assert.equal(
      JSON.stringify(envelope(success.bookDeleted, null)),
      '{"status":200,"message":"Book deleted successfully","data":null}',
    )
    assert.equal(
      JSON.stringify(envelope(failure.bookNotFound, null)),
      '{"status":404,"message":"Book not found","data":null}',
    )
    const data = { id: 1, title: 'T', author: 'A', year: 1 }
    assert.deepEqual(envelope(success.bookRetrieved, data), { ...success.bookRetrieved, data })
  })
})

describe('a failure', () => {
  it('is one object for all requests, so it cannot be changed and holds no stack', () => {
    for (const each of Object.values(failure)) {
      assert.ok(each instanceof Failure && each instanceof Error)
      assert.ok(Object.isFrozen(each))
      assert.equal(each.stack, undefined)
    }
  })
})
