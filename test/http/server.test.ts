import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertFailure, head, RawConnection } from '../support/raw-socket.ts'
import { ACCOUNT } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const service = useService()

for (const path of ['/book/1#', '/book/1#abc', '/book/%31', '/book/1%23']) {
  it(`${path} is no book's path, although the book 1 exists`, async () => {
    const id = await service.createBook()
    assert.ok(id >= 1)
    using connection = await RawConnection.open(service.url)
    await connection.send(head(`GET ${path}`, `Authorization: ${service.token}`))
    assertFailure(await connection.response(), 404, 'Book not found')
  })
}

describe('a path with another method', () => {
  for (const [path, allowed] of Object.entries({
    '/token': ['POST'],
    '/book': ['POST'],
    '/books': ['GET', 'HEAD'],
    '/book/1': ['DELETE', 'GET', 'HEAD', 'PUT'],
    '/book/999': ['DELETE', 'GET', 'HEAD', 'PUT'],
    '/book/abc': ['DELETE', 'GET', 'HEAD', 'PUT'],
    '/openapi.json': ['GET', 'HEAD'],
  })) {
    const all = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'OPTIONS', 'TRACE', 'QUERY', 'M-SEARCH']
    for (const method of all.filter((method) => !allowed.includes(method))) {
      it(`${method} ${path} is 405 with Allow: ${allowed.join(', ')}, without a token`, async () => {
        using connection = await RawConnection.open(service.url)
        await connection.send(head(`${method} ${path}`))
        const response = await connection.response()
        assertFailure(response, 405, 'Method not allowed')
        assert.deepEqual(response.headers.get('allow')?.split(', ').toSorted(), allowed)
      })
    }
  }

  it('is 405 before a body is sent or looked at', async () => {
    for (const field of ['Content-Length: 10', 'Content-Length: 9999999', 'Transfer-Encoding: chunked']) {
      using connection = await RawConnection.open(service.url)
      await connection.send(head('PATCH /books', field))
      assertFailure(await connection.response(), 405, 'Method not allowed')
    }
  })
})

describe('an unknown path', () => {
  for (const path of [
    '/nowhere',
    '/book/',
    '/book/1/',
    '/book/1/2',
    '/books/',
    '/books/1',
    '//books',
    '/BOOKS',
    '/Book/1',
    '/./books',
    '/x/../books',
    '/%62ooks',
    '/book%2F1',
    '/books%00',
    '/books;x',
    '/token/',
    '/__proto__',
    '/%',
    '/%zz',
    `/${'x'.repeat(15_000)}`,
  ]) {
    const shown = path.length > 40 ? `a path of ${path.length} bytes` : path
    it(`${shown} is 404 Not found, with and without a token, whatever the body`, async () => {
      for (const authorization of [service.token, '']) {
        for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
          using connection = await RawConnection.open(service.url)
          const fields = [
            `Authorization: ${authorization}`,
            'Content-Type: application/json',
            'Content-Length: 3',
          ]
          await connection.send(`${head(`${method} ${path}`, ...fields)}{{{`)
          assertFailure(await connection.response(), 404, 'Not found')
        }
      }
    })
  }

  it('OPTIONS * is 404 Not found', async () => {
    using connection = await RawConnection.open(service.url)
    await connection.send(head('OPTIONS *'))
    assertFailure(await connection.response(), 404, 'Not found')
  })
})

it('a token is not to be kept by any cache', async () => {
  const response = await fetch(`${service.url}/token`, { method: 'POST', body: JSON.stringify(ACCOUNT) })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('cache-control'), 'no-store')
})
