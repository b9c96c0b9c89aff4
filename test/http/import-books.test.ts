import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import type { ImportOptions } from '../../src/catalogue/store.ts'
import { failure } from '../../src/http/envelope.ts'
import { ImportTurn } from '../../src/http/services.ts'
import { assertFailure, head, RawConnection } from '../support/raw-socket.ts'
import { serve } from './serve.ts'

const HEADER = 'title,author,year\n'

it('the turn to import belongs to one owner, who alone ends it', () => {
  const turn = new ImportTurn()
  const [first, second] = [{}, {}]
  assert.deepEqual([turn.begin(first), turn.begin(second), turn.begin(first)], [true, false, false])
  turn.end(second)
  assert.equal(turn.begin(second), false, 'a thread that dies does not end the import of another one')
  turn.end(first)
  assert.equal(turn.begin(second), true)
})

describe('POST /books/import', () => {
  async function open(t: TestContext, options: Parameters<typeof serve>[1] = {}) {
    const server = await serve(t, options)
    const connect = async () => {
      const connection = await RawConnection.open(server.url)
      t.after(() => connection[Symbol.dispose]())
      return connection
    }
    const headOf = (length: number, query = '', ...fields: string[]) =>
      server.authorized(
        `POST /books/import${query}`,
        'Content-Type: Text/CSV',
        ...(length < 0 ? ['Transfer-Encoding: chunked'] : [`Content-Length: ${length}`]),
        ...fields,
      )
    /** Begins an import, of which the service has the head. */
    const begin = async (length: number) => {
      const connection = await connect()
      await connection.send(headOf(length, '', 'Expect: 100-continue'))
      const { status } = await connection.response()
      return { connection, status }
    }
    return { ...server, connect, headOf, begin }
  }
  const dataOf = ({ body }: { body: string }) => JSON.parse(body).data

  it('may take longer than other requests, and keeps a second one from beginning', async (t) => {
    const { app, connect, begin } = await open(t)
    const file = `${HEADER}T,A,1\n`
    const { connection, status } = await begin(file.length)
    assert.equal(status, 100)
    for (let other = 0; other < 2; other++) assert.equal((await begin(file.length)).status, 503)
    const [late, unused] = [await connect(), await connect()]
    const isRead = once(app.server, 'request')
    await late.send(head('POST /token', 'Content-Length: 10', 'X-Request-Id: mine'))
    await isRead
    app.server.requestTimeout = 1
    app.server.headersTimeout = 1
    const response = await late.response()
    assertFailure(response, 408, 'Request timeout')
    assert.equal(response.headers.get('x-request-id'), 'mine')
    assert.equal(await unused.rest(), '')
    await connection.send(file)
    assert.equal(dataOf(await connection.response()).added, 1)
    // The next request on the connection has only the usual time.
    await connection.send(head('GET /healthz').slice(0, -2))
    assertFailure(await connection.response(), 408, 'Request timeout')
  })

  // How fast it has to arrive: test/http/protocol/upload.test.ts.
  it('that does not arrive is 408; then others can import', async (t) => {
    const { ask, begin, headOf, assertNoFailures } = await open(t)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { connection } = await begin(5000)
    for (let half = 0; half < 2; half++) t.mock.timers.tick(15_000)
    const response = await connection.response()
    assertFailure(response, 408, 'Request timeout')
    assert.equal(response.headers.get('connection'), 'close')
    assert.equal((await ask(headOf(HEADER.length) + HEADER)).status, 200)
    assertNoFailures()
  })

  it('that breaks off is 400', async (t) => {
    const { begin } = await open(t)
    const { connection } = await begin(-1)
    await connection.send('3\r\nti\r\nzz\r\n')
    assertFailure(await connection.response(), 400, 'Bad request')
  })

  it('that is not read to its end is answered, and the connection goes on', async (t) => {
    const { connect, headOf } = await open(t)
    const connection = await connect()
    const file = HEADER + 'x\n'.repeat(200_000)
    await connection.send(headOf(file.length, '?dry_run=true') + file + head('GET /healthz'))
    assert.equal(dataOf(await connection.response()).faulty, 10_000)
    assert.equal((await connection.response()).status, 200)
    // The import itself would not skip so many.
    await connection.send(headOf(file.length, '?dry_run=true&skip_faulty=true') + file)
    assert.equal((await connection.response()).status, 400)
  })

  for (const [ending, rest, status] of [
    ['all of the file has come', 'x\n'.repeat(1000), 200],
    ['both parts of the file are over the limit', 'x\n'.repeat(450_000), 413],
    ['the client has gone', undefined, undefined],
  ] as const)
    it(`a check that needs no more of its file goes on until ${ending}; meanwhile others can import`, async (t) => {
      const { app, connect, headOf, begin, assertNoFailures } = await open(t)
      const connection = await connect()
      const asked = once(app.server, 'checkContinue')
      const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
      const refused = chunk(`foo,bar\n${'x\n'.repeat(50_000)}`)
      await connection.send(headOf(-1, '?dry_run=true', 'Expect: 100-continue'))
      assert.equal((await connection.response()).status, 100)
      t.mock.timers.enable({ apis: ['setTimeout'] })
      await connection.send(refused)
      while ((await begin(1)).status === 503);
      for (let half = 0; half < 2; half++) t.mock.timers.tick(10_000)
      if (rest === undefined) {
        connection.reset()
        const [, response] = await asked
        if (!response.closed) await once(response, 'close')
        await new Promise(setImmediate)
      } else {
        await connection.send(`${chunk(rest)}0\r\n\r\n${head('GET /healthz')}`)
        assert.equal((await connection.response()).status, status)
        assert.equal((await connection.response()).status, 200)
      }
      assertNoFailures()
    })

  it('refuses a file over the limit, said before or found out, and takes the largest one', async (t) => {
    const limit = 20_000
    const { ask, headOf } = await open(t, { importLimit: limit })
    const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
    const largest = HEADER.padEnd(limit, '\n')
    for (const [request, status] of [
      [headOf(limit + 1), 413],
      [headOf(-1) + chunked(`${largest}\n`), 413],
      [headOf(limit) + largest, 200],
      [headOf(-1) + chunked(largest), 200],
    ] as const)
      assert.equal((await ask(request)).status, status)
  })

  it('of a client that has gone is abandoned, although its whole file has come, and others can import', async (t) => {
    const importing = Promise.withResolvers<AbortSignal>()
    const isAbandoned = Promise.withResolvers<void>()
    const { begin, assertNoFailures } = await open(t, {
      replaced: () => ({
        import: async (books, { signal }: ImportOptions) => {
          for await (const _book of books);
          importing.resolve(signal as AbortSignal)
          await once(signal as AbortSignal, 'abort')
          isAbandoned.resolve()
          throw signal?.reason
        },
      }),
    })
    const file = `${HEADER}T,A,1\n`
    const { connection } = await begin(file.length)
    await connection.send(file)
    const signal = await importing.promise
    connection.reset()
    await isAbandoned.promise
    assert.equal(signal.reason, failure.badRequest)
    let next = await begin(file.length)
    while (next.status === 503) next = await begin(file.length)
    assert.equal(next.status, 100)
    assertNoFailures()
  })
})
