import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { logIn } from '../support/client.ts'
import { Caller, SOON } from './caller.ts'
import { asAdministrator, onEachServer, openSession, serve } from './engine-servers.ts'
import { assertUnavailable } from './load.ts'

/** Lets books be read, but not written, as while a standby does not confirm what it has to. */
const BLOCK = {
  postgres: ['BEGIN', 'LOCK TABLE books IN EXCLUSIVE MODE'],
  mysql: ['FLUSH TABLES WITH READ LOCK'],
}

const WRITERS = 30

/** Reads of each kind, while all writes hang. */
const READS = 50

/** How long the writes hang, in seconds: far longer than the reads take. */
const STORE_TIMEOUT = '15'

onEachServer('writes that hang on a database server', (server, engine) => {
  it('leave connections to reads, which go on, and to the question whether the service is ready', async (t) => {
    const url = await server().createDatabase()
    const caller = new Caller(await serve(t, url, { STORE_TIMEOUT }))
    const ids = await Promise.all(Array.from({ length: WRITERS }, () => caller.create()))
    await using session = await openSession(asAdministrator(server(), url))
    for (const sql of BLOCK[engine]) await session.run(sql)
    const writes = ids.map((id, i) => {
      if (i % 3 === 0) return caller.call('POST /book', { title: 'T', author: 'A', year: 1 })
      return i % 3 === 1 ? caller.call(`PUT /book/${id}`, { year: 2 }) : caller.call(`DELETE /book/${id}`)
    })
    let isWriteAnswered = false
    Promise.any(writes).then(
      () => {
        isWriteAnswered = true
      },
      () => {},
    )
    await setTimeout(500)
    for (let i = 0; i < READS; i++) {
      await caller.ok(`GET /book/${ids[0]}`)
      await caller.ok('GET /books?limit=5')
      await caller.recovers('GET /readyz')
    }
    assert.ok(!isWriteAnswered, 'the reads waited for the writes')
    for (const response of await Promise.all(writes)) {
      assertUnavailable(response)
      assert.match(response.headers.get('x-stored') ?? '', /^(no|unknown)$/)
    }
  })
})

onEachServer('writes while a database server is down', (server) => {
  it('are known to have stored nothing, and are done when it is up again in time', async (t) => {
    const url = await server().createDatabase()
    const caller = new Caller(await serve(t, url, { STORE_TIMEOUT: SOON }))
    // However long the server takes to start.
    const patient = await serve(t, url)
    const id = await caller.create()
    await server().stop('clean')
    const writes = ['POST /book', `PUT /book/${id}`, `DELETE /book/${id}`]
    const body = { title: 'T', author: 'A', year: 1 }
    const reading = caller.call(`GET /book/${id}`)
    for (const response of await Promise.all(writes.map((line) => caller.call(line, body)))) {
      assertUnavailable(response)
      assert.equal(response.headers.get('x-stored'), 'no')
    }
    const read = await reading
    assertUnavailable(read)
    assert.equal(read.headers.get('x-stored'), undefined)
    const waiting = fetch(`${patient.url}/book/${id}`, {
      method: 'PUT',
      headers: { authorization: await logIn(patient.url) },
      body: '{"year":7}',
    })
    await server().start()
    const written = await waiting
    assert.equal(written.status, 200)
    assert.equal(((await written.json()) as { data: { year: number } }).data.year, 7)
  })
})
