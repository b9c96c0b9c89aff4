import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, truncateSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openFile } from '../store/sqlite/file.ts'
import { logIn } from '../support/client.ts'
import { MAIN } from '../support/command.ts'
import { findCommand } from '../support/program.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import {
  ACCOUNT,
  SECRET,
  type Service,
  spawnService,
  startService,
  temporaryDirectory,
} from '../support/service.ts'
import { hmacToken } from '../support/tokens.ts'

const LOGGING = join(import.meta.dirname, '../../src/observability/logging.ts')

const [DEBUG, INFO, WARN, ERROR] = [20, 30, 40, 50]
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** Part of every secret of a client here that is none of the service's own. */
const MARK = 'hunter2'

const directory = temporaryDirectory()
after(directory.remove)

/** Every line of what a service has written; each has to be a JSON object. */
const linesOf = (service: Service) =>
  service
    .output()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

it('the log tells of start, stop, a warning and each failure of ours, and of nothing else', async () => {
  const path = join(directory.path, 'books.db')
  const store = await openFile(path)
  // So many that what is left of the file has not all of them.
  await store.import(Readable.from([Array(1500).fill({ title: 'x'.repeat(1000), author: 'A', year: 1 })]))
  await store.close()
  const service = await startService(directory.path, { LOGIN_FAILURE_LIMIT: '1' })
  const authorization = await logIn(service.url)
  const get = async (path: string) =>
    (await fetch(service.url + path, { headers: { authorization, 'x-request-id': 'mine' } })).status
  assert.equal(await get('/book/x'), 404)
  truncateSync(path, 4096)
  assert.equal(await get('/book/250'), 500)
  assert.equal((await fetch(`${service.url}/token`, { method: 'POST', body: '{}' })).status, 401)
  await service.stop()
  const lines = linesOf(service)
  const messages = lines.map(({ level, msg }) => [level, msg])
  assert.deepEqual(messages, [
    [INFO, 'listening'],
    [ERROR, 'Internal server error'],
    [WARN, 'too many failed logins from this address'],
    [INFO, 'stopping'],
    [INFO, 'stopped'],
  ])
  const { reqId, method, route, err } = lines[1]
  assert.deepEqual([reqId, method, route], ['mine', 'GET', '/book/:id'])
  assert.match(err.message, /malformed|disk image|I\/O/)
  assert.match(err.stack, /\/src\/store\//)
  const now = Date.now()
  for (const { time } of lines) assert.ok(time <= now && time > now - 3600_000)
})

// Each service is checked for the password, the secret and tokens when it ends.
it('at LOG_LEVEL=trace each request has a line with its id, and no line has a secret', async () => {
  const settings = { LOG_LEVEL: 'trace', CORS_ORIGIN: '*', LOGIN_FAILURE_LIMIT: '2' }
  const service = await startService(directory.path, { ...settings, DB_URL: 'sqlite:traced.db' })
  const token = await logIn(service.url)
  const begin = performance.now()
  const account = JSON.stringify(ACCOUNT)
  const calls = [
    ...[account, `${account}${MARK}`].map((body) => [token, 'POST /token', body]),
    [token, 'POST /token', JSON.stringify({ ...ACCOUNT, password: MARK })],
    [token, 'POST /token', JSON.stringify({ username: MARK, password: ACCOUNT.password })],
    [token, 'POST /token', account],
    ...[token, `Bearer ${token}`, hmacToken({ exp: 1 }), `${MARK}.${MARK}.${MARK}`].flatMap((each) => [
      [each, `GET /books?token=${each}`],
      [each, 'POST /book', '{"title":"T","author":"A","year":1}'],
      [each, 'POST /book', `"${MARK.repeat(200_000)}"`],
      [each, 'PUT /book/1', `{"title":"${MARK}","year":"x"}`],
      [each, `PATCH /book/1?${MARK}`],
      [each, `GET /nowhere?${MARK}#${MARK}`],
    ]),
  ]
  const responses: [id: string, method: string, path: string, status: number][] = []
  for (const [i, [authorization = '', line = '', body]] of calls.entries()) {
    const [method = '', target = ''] = line.split(' ')
    // Of these ids, only one may be used.
    const id: string = ['mine', `"${MARK}"`, 'a, b'][i] ?? ''
    const headers = { authorization, origin: 'http://a.example', cookie: MARK, 'x-request-id': id }
    const response = await fetch(service.url + target, { method, headers, ...(body && { body }) })
    await response.arrayBuffer().catch(() => undefined)
    const given = response.headers.get('x-request-id') ?? ''
    assert.match(given, id === 'mine' ? /^mine$/ : UUID)
    responses.push([given, method, target.replace(/[?#].*/, ''), response.status])
  }
  const elapsed = performance.now() - begin
  for (const bytes of [
    head('GET /books', `Authorization: ${token}`, MARK),
    head('GET /books', `Authorization: ${token}${MARK.repeat(5000)}`),
    head(`GET http://user:${MARK}@test/`, `Authorization: ${token}`),
    `${head('POST /token', 'Transfer-Encoding: chunked')}zz${ACCOUNT.password}\r\n`,
  ]) {
    using connection = await RawConnection.open(service.url)
    await connection.send(bytes)
    await connection.response()
  }
  await service.stop()
  const lines = linesOf(service)
  assert.deepEqual(
    lines.filter((line) => JSON.stringify(line).includes(MARK)),
    [],
  )
  const ids = new Set(responses.map(([id]) => id))
  const answered = lines.filter(({ msg, reqId }) => msg === 'answered' && ids.has(reqId))
  assert.deepEqual(
    answered.map(({ reqId, method, path, status }) => [reqId, method, path, status]),
    responses,
  )
  assert.deepEqual(
    [...new Set(responses.map(([, , , status]) => status))].sort(),
    [200, 201, 400, 401, 404, 405, 413, 429],
  )
  for (const { level, ip, ms } of answered)
    assert.ok(level === DEBUG && ip === '127.0.0.1' && ms > 0 && ms < elapsed)
  const reasons = lines.flatMap(({ level, reason }) => (level === DEBUG && reason) || [])
  assert.ok(reasons.some((reason) => reason.startsWith('year must be')))
})

for (const [scheme, nobody] of [
  ['postgres', '127.0.0.1:1'],
  ['mysql', 'no-such-host.invalid'],
] as const)
  it(`the password of a DB_URL that leads nowhere is in no line: ${scheme}`, async (t) => {
    const targets: string[] = [nobody]
    // Servers that are no databases: they send garbage, or close the connection.
    for (const greeting of [`what? ${'\0'.repeat(100)}`, '']) {
      const server = createServer((socket) => socket.on('error', () => {}).end(greeting))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      t.after(() => server.close())
      targets.push(`127.0.0.1:${(server.address() as AddressInfo).port}`)
    }
    for (const target of targets) {
      const DB_URL = `${scheme}://user:${MARK}@${target}/books`
      const settings = { PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'trace', PASSWORD: MARK, DB_URL }
      const { child, output, ended } = spawnService(directory.path, settings)
      while (child.exitCode === null && !output().includes('DB_URL')) await setTimeout(20)
      child.kill()
      await ended
      assert.match(output(), /DB_URL/)
      assert.ok(!output().includes(MARK), output())
    }
  })

describe('a log that nobody reads for a while', () => {
  it('keeps the service neither from answering nor from ending, and loses only whole lines', async () => {
    const service = await startService(directory.path, { LOG_LEVEL: 'debug', DB_URL: 'sqlite:unread.db' })
    service.process.stdout?.pause()
    for (let i = 0; i < 1000; i += 50) {
      const responses = Array.from({ length: 50 }, () => fetch(`${service.url}/${'x'.repeat(1000)}`))
      for (const response of await Promise.all(responses)) assert.equal(response.status, 404)
    }
    const ended = once(service.process, 'exit')
    service.process.kill()
    assert.deepEqual(await ended, [0, null])
    service.process.stdout?.resume()
    await service.stop()
    assert.ok(linesOf(service).length > 20)
  })

  it('finishes the line of which a full pipe took only a part', async (t) => {
    const path = join(directory.path, 'log')
    execFileSync('mkfifo', [path])
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    t.after(() => closeSync(pipe))
    const code = `
      import { logStream } from ${JSON.stringify(LOGGING)}
      const log = await logStream()
      process.on('message', (name) => {
        // A pipe takes less than 64 of these.
        for (let i = 0; i < 64; i++) log.write(JSON.stringify({ line: name + i, text: 'x'.repeat(6000) }) + '\\n')
        process.send('written')
      })`
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', pipe, 'inherit', 'ipc'],
    })
    let text = ''
    for (const name of ['first', 'second', 'third']) {
      child.send(name)
      await once(child, 'message')
      text += readAvailable(pipe)
    }
    child.disconnect()
    await once(child, 'exit')
    const whole = text.slice(0, text.lastIndexOf('\n')).split('\n')
    const lines = whole.map((line) => JSON.parse(line)).map(({ line, text }) => `${line} ${text.length}`)
    const last = lines.findLastIndex((line) => line.startsWith('first'))
    assert.deepEqual(
      lines.slice(0, last + 1),
      Array.from({ length: last + 1 }, (_, i) => `first${i} 6000`),
    )
    assert.deepEqual([lines[last + 1], lines.at(-1)?.startsWith('third')], ['second0 6000', true])
  })
})

/** @returns what is in the pipe now. */
function readAvailable(pipe: number): string {
  const bytes = Buffer.alloc(1024 * 1024)
  return bytes.toString('utf8', 0, readSync(pipe, bytes))
}

it('in a terminal the log is for people', {
  skip: findCommand(['script']) ? false : 'needs script of util-linux',
}, async () => {
  const typescript = join(directory.path, 'terminal.txt')
  const terminal = spawn('script', ['-qec', `exec "${process.execPath}" "${MAIN}"`, '-f', typescript], {
    cwd: directory.path,
    env: {
      PATH: process.env.PATH,
      SHELL: '/bin/sh',
      PORT: '0',
      HOST: '127.0.0.1',
      DB_URL: 'sqlite:terminal.db',
      PASSWORD: ACCOUNT.password,
      SECRET_TOKEN: SECRET,
    },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const text = () => (existsSync(typescript) ? readFileSync(typescript, 'utf8') : '')
  while (!text().includes('listening') && terminal.exitCode === null) await setTimeout(20)
  // What Ctrl-C sends.
  terminal.stdin.write('\x03')
  const [code] = await once(terminal, 'close')
  assert.equal(code, 0, text())
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
  const plain = text().replaceAll(/\x1b\[\d+m/g, '')
  assert.notEqual(plain, text(), 'there are colours')
  assert.match(plain, /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: listening\r?\n {4}url: "http:.*INFO: stopped/ms)
})
