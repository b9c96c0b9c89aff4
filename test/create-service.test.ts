import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ConfigError, createService, OperatorError, type Settings } from '../src/index.ts'
import { call, logIn } from './spec/client.ts'
import { ACCOUNT, PATIENT, SECRET, temporaryDirectory } from './support/service.ts'

describe('createService', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const settings = (file: string): Settings => ({
    PORT: 0,
    HOST: '127.0.0.1',
    DB_URL: `sqlite:${join(directory.path, file)}`,
    USERNAME: ACCOUNT.username,
    PASSWORD: ACCOUNT.password,
    SECRET_TOKEN: SECRET,
    LOG_LEVEL: 'silent',
    STORE_TIMEOUT: PATIENT,
  })

  it('throws one error for all faults of the settings', () => {
    const wrong = { PORT: 65536, THREADS: '0', TRUST_PROXY: true, CORS_ORIGIN: undefined, HOST: '' }
    assert.throws(
      () => createService(wrong),
      (error) => error instanceof ConfigError && /^PORT .*\nHOST .*\nTHREADS .*$/.test(error.message),
    )
  })

  it('does not read the settings of the environment', (t) => {
    process.env.METRICS_PORT = 'none'
    t.after(() => delete process.env.METRICS_PORT)
    createService(settings('unused.db'))
  })

  it('answers from start to stop, several of them in one process, whatever their threads', async () => {
    const services = [1, 2, 2].map((THREADS, index) =>
      createService({ ...settings(`${index}.db`), THREADS, METRICS_PORT: 0 }),
    )
    for (const service of services) assert.throws(() => service.url, /has not started/)
    await Promise.all(services.map((service) => service.start()))
    const urls = services.map(({ url }) => url)
    for (const [index, url] of urls.entries()) {
      const target = { name: url, url, ...ACCOUNT }
      const token = await logIn(target)
      const json = { title: `of ${index}`, author: 'A', year: 1 }
      assert.equal((await call(target, 'POST', '/book', { token, json })).status, 201)
      const { data } = (await call(target, 'GET', '/books', { token })).body
      assert.deepEqual(data, [{ id: 1, ...json }])
    }
    await Promise.all(services.map((service) => service.stop()))
    for (const url of urls) await assert.rejects(fetch(url))
  })

  it('has stopped when stop has ended, even while it starts', async () => {
    const service = createService(settings('early.db'))
    const started = service.start()
    await Promise.all([started, service.stop()])
    await assert.rejects(fetch(service.url))
    await assert.rejects(service.start(), /started before/)
  })

  it('stops although a client never finishes its request', async () => {
    const service = createService(settings('slow.db'))
    await service.start()
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {})
    socket.write('POST /token HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n')
    let received = ''
    socket.on('data', (bytes) => {
      received += bytes
    })
    await once(socket, 'data')
    const closed = once(socket, 'close')
    await service.stop()
    await closed
    assert.doesNotMatch(received, /408/, 'it was not cut, but refused later')
  })

  it('says what is wrong when it cannot start, and leaves nothing open', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const service = createService({ ...settings('busy.db'), PORT: port })
    await assert.rejects(
      service.start(),
      (error) => error instanceof OperatorError && /^PORT: \d+ is in use/.test(error.message),
    )
    await service.stop()
    other.close()
    const nowhere = createService({ ...settings('none.db'), DB_URL: 'sqlite:/dev/null/x.db' })
    await assert.rejects(nowhere.start(), /^OperatorError: DB_URL: |^Error: DB_URL: /)
  })
})
