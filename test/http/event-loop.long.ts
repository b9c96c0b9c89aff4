import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { Agent } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { Auth } from '../../src/auth/auth.ts'
import { ask } from '../faults/measure.ts'
import { newFile, openFile } from '../store/sqlite/file.ts'
import { logIn } from '../support/client.ts'
import { ACCOUNT, SECRET, startService, temporaryDirectory } from '../support/service.ts'
import { createTestServer } from '../support/test-server.ts'

/** How long the event loop is kept busy at a time, in milliseconds. */
const BLOCK = 1200

/** How long it may take until requests are served again, in milliseconds. */
const PATIENCE = 30_000

const UNAVAILABLE = '{"status":503,"message":"Service unavailable","data":null}'

describe('a service whose event loop is late', () => {
  const file = newFile()
  let app: FastifyInstance
  let url: string
  let authorization: string

  before(async () => {
    const store = await openFile(file.path)
    const auth = new Auth(ACCOUNT, SECRET)
    authorization = await auth.issue()
    app = await createTestServer(store, auth)
    app.addHook('onClose', () => store.close())
    await app.ready()
    await new Promise<void>((listening) => app.server.listen(0, '127.0.0.1', listening))
    block()
    url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  })
  after(async () => {
    await app.close()
    file[Symbol.dispose]()
  })

  async function get(path: string) {
    const response = await fetch(url + path, { headers: { authorization } })
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      text: await response.text(),
    }
  }

  it('serves from the start, although starting took long', async () => {
    let last = performance.now()
    for (const end = last + BLOCK; last < end; await setTimeout(20)) {
      const { status } = await get('/books')
      // A machine that stands still makes it late again.
      if (performance.now() - last > BLOCK / 2) return
      last = performance.now()
      assert.equal(status, 200)
    }
  })

  it('turns requests away with 503 and Retry-After, but never says that it is not alive or not ready', async () => {
    const refused: Awaited<ReturnType<typeof get>>[] = []
    for (let i = 0; i < 20 && refused.length < 2; i++) {
      // It has to be late twice. In between, and after it, the event loop turns, so that the delay is measured.
      for (let late = 0; late < 2; late++) {
        block()
        await setTimeout(1)
      }
      const response = await get('/books')
      if (response.status !== 200) refused.push(response)
      for (const path of ['/healthz', '/readyz']) assert.equal((await get(path)).status, 200, path)
    }
    assert.equal(refused.length, 2, 'nothing was turned away')
    for (const { status, retryAfter, text } of refused) {
      assert.equal(text, UNAVAILABLE)
      assert.equal(status, 503)
      assert.match(retryAfter ?? '', /^[1-9][0-9]*$/)
    }
  })

  it('serves again when it is on time', async () => {
    const deadline = Date.now() + PATIENCE
    while ((await get('/books')).status !== 200) {
      assert.ok(Date.now() < deadline, 'it still turns requests away')
      await setTimeout(50)
    }
    assert.equal((await get('/books')).status, 200)
  })
})

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0

describe('a service that may open no more files', { skip: hasPrlimit ? false : 'needs prlimit' }, () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  it('serves the connections that it has, and others when it may again', async () => {
    const service = await startService(directory.path, { METRICS_PORT: '0' })
    const metricsUrl = /"url":"([^"]*)\/metrics"/.exec(service.output())?.[1] ?? ''
    const authorization = await logIn(service.url)
    const agent = new Agent({ keepAlive: true })
    const call = async (url: string, line: string, body?: string) =>
      (await ask(url, agent, line, authorization, body)).status
    const callAll = async () => {
      assert.equal(await call(service.url, 'POST /book', '{"title":"T","author":"A","year":1}'), 201)
      assert.equal(await call(service.url, 'GET /books'), 200)
      assert.equal(await call(service.url, 'GET /readyz'), 200)
      assert.equal(await call(metricsUrl, 'GET /metrics'), 200)
    }
    await callAll()
    spawnSync('prlimit', [`--pid=${service.process.pid}`, '--nofile=40:40'])
    const others = [service.url, metricsUrl].flatMap((url) => {
      const { hostname, port } = new URL(url)
      return Array.from({ length: 100 }, () => connect(Number(port), hostname).on('error', () => {}))
    })
    // Long enough for what is done every second, too.
    for (const end = Date.now() + 1500; Date.now() < end; await setTimeout(100)) await callAll()
    for (const socket of others) socket.destroy()
    const deadline = Date.now() + PATIENCE
    const again = new Agent()
    while ((await ask(service.url, again, 'GET /books', authorization)).status !== 200) {
      assert.ok(Date.now() < deadline, 'it does not serve others')
      await setTimeout(50)
    }
    agent.destroy()
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
  })
})

/** Keeps the event loop of this process, and so of the server in it, from turning. */
function block(): void {
  for (const end = Date.now() + BLOCK; Date.now() < end; );
}
