import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { after, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ask } from '../faults/measure.ts'
import { logIn } from '../support/client.ts'
import { startService, temporaryDirectory } from '../support/service.ts'

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0

const directory = temporaryDirectory()
after(directory.remove)

it('a service that may open no more files serves the connections that it has, and others when it may again', {
  skip: hasPrlimit ? false : 'needs prlimit',
}, async () => {
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
  const again = new Agent()
  while ((await ask(service.url, again, 'GET /books', authorization)).status !== 200) await setTimeout(50)
  agent.destroy()
  assert.deepEqual(await service.stop(), { code: 0, signal: null })
})
