import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { it } from 'node:test'
import { head, RawConnection } from '../support/raw-socket.ts'
import { startService, temporaryDirectory } from '../support/service.ts'
import { connectUntilRefused } from '../support/slow-request.ts'
import { EXP, expiringAt } from '../support/tokens.ts'

const authorization = `Authorization: ${expiringAt(EXP)}`

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

it('a client that has not taken its responses when SIGTERM comes gets them all, the last with Connection: close', async (t) => {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  const service = await startService(directory.path)
  t.after(() => service.stop('SIGKILL'))
  using connection = await RawConnection.open(service.url)
  const body = JSON.stringify({ title: 'x'.repeat(1_000_000), author: 'A', year: 1 })
  await connection.send(head('POST /book', authorization, `Content-Length: ${body.length}`) + body)
  assert.equal((await connection.response()).status, 201)
  const requests = 20
  connection.stopReading()
  await connection.send(head('GET /book/1', authorization).repeat(requests))
  const ended = service.stop()
  await assert.rejects(connectUntilRefused(service.url))
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
