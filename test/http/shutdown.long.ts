import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { assertFailure, head, RawConnection } from '../support/raw-socket.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'
import { connectUntilRefused } from '../support/slow-request.ts'
import { EXP, expiringAt } from '../support/tokens.ts'

const authorization = `Authorization: ${expiringAt(EXP)}`

/** A service that does not stop within this time hangs; milliseconds. */
const LIMIT = 60_000

const directory = temporaryDirectory()
after(directory.remove)

/** Sends SIGTERM. @returns when the service accepts no more, the promise of its end. */
async function beginToStop(service: Service): Promise<{ ended: ReturnType<Service['stop']> }> {
  const ended = service.stop()
  await assert.rejects(connectUntilRefused(service.url))
  return { ended }
}

/** Sends a POST /book on the connection, and takes the response. */
async function create(connection: RawConnection, title: string): Promise<void> {
  const body = JSON.stringify({ title, author: 'A', year: 1 })
  await connection.send(head('POST /book', authorization, `Content-Length: ${body.length}`) + body)
  assert.equal((await connection.response()).status, 201)
}

it('SIGTERM ends a process in which a thread does not end', async () => {
  const script = join(import.meta.dirname, '../support/stuck-service.ts')
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const begun = once(child.stdout, 'data')
  try {
    await begun
    const signalled = Date.now()
    child.kill('SIGTERM')
    assert.notEqual(await Promise.race([exit, setTimeout(LIMIT, 'still running')]), 'still running')
    assert.ok(Date.now() - signalled > 5000, 'requests have some time')
  } finally {
    child.kill('SIGKILL')
  }
})

describe('SIGTERM, and a client that', () => {
  const start = async (t: TestContext, settings: Record<string, string> = {}) => {
    const service = await startService(directory.path, settings)
    t.after(() => service.stop('SIGKILL'))
    return service
  }

  it('has not taken its responses yet gets them all, the last with Connection: close', async (t) => {
    const service = await start(t, { DB_URL: 'sqlite:taken.db' })
    using connection = await RawConnection.open(service.url)
    await create(connection, 'x'.repeat(1_000_000))
    const requests = 20
    connection.stopReading()
    await connection.send(head('GET /book/1', authorization).repeat(requests))
    const { ended } = await beginToStop(service)
    await setTimeout(200)
    for (let i = 1; i <= requests; i++) {
      const response = await connection.response()
      assert.equal(response.status, 200, `${i}`)
      assert.equal(response.headers.get('connection'), i < requests ? 'keep-alive' : 'close', `${i}`)
    }
    assert.equal(await connection.rest(), '')
    assert.ok(!connection.wasCut)
    assert.deepEqual(await ended, { code: 0, signal: null })
  })

  it('is still sending a body that is refused gets the refusal', async (t) => {
    const service = await start(t)
    using connection = await RawConnection.open(service.url)
    const begin = head('POST /book', 'Content-Length: 1000000')
    await connection.send(begin.slice(0, 20))
    await (await fetch(service.url)).text()
    const { ended } = await beginToStop(service)
    await connection.send(begin.slice(20))
    for (let i = 0; i < 9; i++) {
      await connection.send('x'.repeat(100_000))
      await setTimeout(20)
    }
    assertFailure(await connection.response(), 401, 'Authorization token required')
    assert.ok(!connection.wasCut)
    connection[Symbol.dispose]()
    assert.deepEqual(await ended, { code: 0, signal: null })
  })

  it('never finishes its head, its body, or reading does not keep the process from ending with code 0', async (t) => {
    const service = await start(t)
    const connections = await Promise.all(
      [
        head('GET /books').slice(0, 10),
        `${head('POST /book', authorization, 'Content-Length: 50')}{`,
        head('GET /books', authorization).repeat(20),
      ].map(async (bytes) => {
        const connection = await RawConnection.open(service.url)
        connection.stopReading()
        await connection.send(bytes)
        return connection
      }),
    )
    await (await fetch(service.url)).text()
    const signalled = Date.now()
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    const took = Date.now() - signalled
    assert.ok(took > 2000, `they had only ${took} ms`)
    for (const connection of connections) connection[Symbol.dispose]()
  })
})
