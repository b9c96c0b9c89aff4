import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { assertFailure, head, RawConnection } from '../support/raw-socket.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'
import { connectUntilRefused } from '../support/slow-request.ts'
import { EXP, expiringAt } from '../support/tokens.ts'

const authorization = `Authorization: ${expiringAt(EXP)}`

const directory = temporaryDirectory()
after(directory.remove)

/** Sends SIGTERM. @returns when the service accepts no more, the promise of its end. */
async function beginToStop(service: Service): Promise<{ ended: ReturnType<Service['stop']> }> {
  const ended = service.stop()
  await assert.rejects(connectUntilRefused(service.url))
  return { ended }
}

it('SIGTERM ends a process in which a thread does not end, after requests had some time', async () => {
  const script = join(import.meta.dirname, 'stuck-service.ts')
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await once(child.stdout, 'data')
    const signalled = Date.now()
    child.kill('SIGTERM')
    await once(child, 'exit')
    assert.ok(Date.now() - signalled > 5000)
  } finally {
    child.kill('SIGKILL')
  }
})

describe('SIGTERM, and a client that', () => {
  const start = async (t: TestContext) => {
    const service = await startService(directory.path, { DB_URL: `sqlite:${crypto.randomUUID()}.db` })
    t.after(() => service.stop('SIGKILL'))
    return service
  }

  it('has not taken its responses yet gets them all, the last with Connection: close', async (t) => {
    const service = await start(t)
    using connection = await RawConnection.open(service.url)
    const body = JSON.stringify({ title: 'x'.repeat(1_000_000), author: 'A', year: 1 })
    await connection.send(head('POST /book', authorization, `Content-Length: ${body.length}`) + body)
    assert.equal((await connection.response()).status, 201)
    const requests = 20
    connection.stopReading()
    await connection.send(head('GET /book/1', authorization).repeat(requests))
    const { ended } = await beginToStop(service)
    for (let i = 1; i <= requests; i++) {
      const { status, headers } = await connection.response()
      assert.deepEqual(
        [status, headers.get('connection')],
        [200, i < requests ? 'keep-alive' : 'close'],
        `${i}`,
      )
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
    for (let i = 0; i < 9; i++) await connection.send('x'.repeat(100_000))
    assertFailure(await connection.response(), 401, 'Authorization token required')
    assert.ok(!connection.wasCut)
    connection[Symbol.dispose]()
    assert.deepEqual(await ended, { code: 0, signal: null })
  })

  it('never finishes its head, its body, or reading has some time, then the process ends with code 0', async (t) => {
    const service = await start(t)
    for (const bytes of [
      head('GET /books').slice(0, 10),
      `${head('POST /book', authorization, 'Content-Length: 50')}{`,
      head('GET /books', authorization).repeat(20),
    ]) {
      const connection = await RawConnection.open(service.url)
      t.after(() => connection[Symbol.dispose]())
      connection.stopReading()
      await connection.send(bytes)
    }
    await (await fetch(service.url)).text()
    const signalled = Date.now()
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    assert.ok(Date.now() - signalled > 2000)
  })
})
