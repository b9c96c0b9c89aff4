import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { head, RawConnection } from '../support/raw-socket.ts'
import { useService } from '../support/use-service.ts'

const service = useService((started) => started.createBook())

const authorized = (line: string, ...fields: string[]) =>
  head(line, `Authorization: ${service.token}`, ...fields)

describe('unusual requests that are good', () => {
  for (const [name, request] of Object.entries({
    'HTTP/1.0 without Host': () => `GET /books HTTP/1.0\r\nAuthorization: ${service.token}\r\n\r\n`,
    'HTTP/1.0 with Host': () => authorized('GET /books').replace('HTTP/1.1', 'HTTP/1.0'),
    'an expectation of something unknown': () => authorized('GET /books', 'Expect: foo'),
    'an upgrade to HTTP/2': () => authorized('GET /books', 'Connection: Upgrade', 'Upgrade: h2c'),
    'an upgrade to a web socket': () => authorized('GET /books', 'Connection: Upgrade', 'Upgrade: websocket'),
    'an empty query': () => authorized('GET /books?'),
    'a query': () => authorized('GET /openapi.json?x=%zz&y[]=1&y[]=2&__proto__=3'),
    'a body that nobody asked for': () => `${authorized('GET /books', 'Content-Length: 3')}{{{`,
    'empty lines before': () => `\r\n\r\n${authorized('GET /books')}`,
    'an empty Host': () => `GET /books HTTP/1.1\r\nHost:\r\nAuthorization: ${service.token}\r\n\r\n`,
  })) {
    it(`${name} is served`, async () => {
      using connection = await RawConnection.open(service.url)
      await connection.send(request())
      assert.equal((await connection.response()).status, 200)
    })
  }

  it('an upgrade is the last request of its connection: of what is sent with it, Node drops the rest', async () => {
    for (const request of [
      authorized('GET /books', 'Connection: Upgrade', 'Upgrade: websocket'),
      head('GET /books', 'Connection: Upgrade', 'Upgrade: websocket'),
    ]) {
      using connection = await RawConnection.open(service.url)
      await connection.send(request + authorized('DELETE /book/999'))
      assert.equal((await connection.response()).headers.get('connection'), 'close')
      assert.equal(await connection.rest(), '')
    }
  })

  it('an expectation of 100-continue is met', async () => {
    using connection = await RawConnection.open(service.url)
    const csv = 'title,author,year\n'
    for (const [line, body, ...fields] of [
      ['PUT /book/1', '{}'],
      ['POST /books/import?dry_run=true', csv, 'Content-Type: text/csv'],
    ] as const) {
      const length = `Content-Length: ${body.length}`
      await connection.send(authorized(line, 'Expect: 100-continue', length, ...fields))
      assert.equal((await connection.response()).status, 100)
      await connection.send(body)
      const response = await connection.response()
      assert.deepEqual([response.status, response.headers.get('connection')], [200, 'keep-alive'])
    }
  })

  it('decision: a client that expects 100-continue need not send a body that the headers refuse', async () => {
    const large = `Content-Length: ${1e10}`
    for (const [status, request] of [
      [401, head('PUT /book/1', 'Expect: 100-continue', 'Content-Length: 2')],
      [404, authorized('POST /nowhere', 'Expect: 100-continue', 'Content-Length: 2')],
      [405, authorized('PUT /books', 'Expect: 100-continue', 'Content-Length: 2')],
      [413, authorized('POST /book', 'Expect: 100-continue', large)],
      [413, authorized('POST /books/import', 'Expect: 100-continue', large, 'Content-Type: text/csv')],
      [415, authorized('POST /books/import', 'Expect: 100-continue', 'Content-Length: 2')],
    ] as const) {
      using connection = await RawConnection.open(service.url)
      await connection.send(request)
      const response = await connection.response()
      // The next request would be taken for the body.
      assert.deepEqual([response.status, response.headers.get('connection')], [status, 'close'])
    }
  })
})

it('after all this the service answers, and has logged no failure', async () => {
  const response = await fetch(`${service.url}/book/1`, { headers: { authorization: service.token } })
  assert.deepEqual(await response.json(), {
    status: 200,
    message: 'Book retrieved successfully',
    data: { id: 1, title: 'T', author: 'A', year: 1 },
  })
  assert.doesNotMatch(service.output(), /"level":[456]0/)
})
