import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { openFile } from '../store/sqlite/file.ts'
import { logIn } from '../support/client.ts'
import { MAIN } from '../support/command.ts'
import { findCommand } from '../support/program.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import { ACCOUNT, SETTINGS, spawnService, startService, temporaryDirectory } from '../support/service.ts'
import { hmacToken } from '../support/tokens.ts'

const DEBUG = 20
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** Part of every secret of a client here that is none of the service's own. */
const MARK = 'hunter2'

const directory = temporaryDirectory()
after(directory.remove)

/** Every line of what a service has written; each has to be a JSON object. */
const linesOf = (output: string) =>
  output
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
  assert.equal(await get('/books?q=nothing'), 200)
  truncateSync(path, 4096)
  assert.equal(await get('/book/250'), 500)
  assert.equal((await fetch(`${service.url}/token`, { method: 'POST', body: '{}' })).status, 401)
  await service.stop()
  const lines = linesOf(service.output())
  assert.deepEqual(
    lines.map(({ level, msg }) => `${level} ${msg}`),
    [
      '30 listening',
      '50 Internal server error',
      '40 too many failed logins from this address',
      '30 stopping',
      '30 stopped',
    ],
  )
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
  const logins = [
    { ...ACCOUNT, password: MARK },
    { ...ACCOUNT, username: MARK },
  ].map((each) => JSON.stringify(each))
  const calls = [
    ...[account, `${account}${MARK}`, ...logins, account].map((body) => [token, 'POST /token', body]),
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
  assert.ok(!service.output().includes(MARK))
  const lines = linesOf(service.output())
  const ids = new Set(responses.map(([id]) => id))
  const answered = lines.filter(({ msg, reqId }) => msg === 'answered' && ids.has(reqId))
  assert.deepEqual(
    answered.map(({ reqId, method, path, status }) => [reqId, method, path, status]),
    responses,
  )
  const statuses = new Set(responses.map(([, , , status]) => status))
  assert.deepEqual([...statuses].sort(), [200, 201, 400, 401, 404, 405, 413, 429])
  for (const { level, ip, ms } of answered)
    assert.ok(level === DEBUG && ip === '127.0.0.1' && ms > 0 && ms < elapsed)
  const reasons = lines.flatMap(({ level, reason }) => (level === DEBUG && reason) || [])
  assert.ok(reasons.some((reason) => reason.startsWith('year must be')))
})

it('a log that nobody reads for a while keeps the service neither from answering nor from ending, and loses only whole lines', async (t) => {
  const path = join(directory.path, 'log')
  execFileSync('mkfifo', [path])
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  t.after(() => closeSync(pipe))
  let text = ''
  /** Reads what is in the pipe now. */
  const read = () => {
    const bytes = Buffer.alloc(1024 * 1024)
    try {
      text += bytes.toString('utf8', 0, readSync(pipe, bytes))
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
    }
  }
  const settings = { ...SETTINGS, LOG_LEVEL: 'debug', DB_URL: 'sqlite:unread.db' }
  const toPipe = ['sh', '-c', 'exec "$@" > "$0"', path]
  const { child, ended } = spawnService(directory.path, settings, [], toPipe)
  t.after(() => child.kill('SIGKILL'))
  while (!text.includes('listening')) {
    await setTimeout(20)
    read()
  }
  const { url } = linesOf(text).find(({ msg }) => msg === 'listening')
  // The pipe takes ten of these lines, and of one more its first page, which is 4 KiB.
  const paths = Array.from({ length: 90 }, (_, i) => `/${i}${'x'.repeat(5000)}`)
  for (const [i, path] of paths.entries()) {
    assert.equal((await fetch(url + path)).status, 404)
    if (i === 30 || i === 60) read()
  }
  child.kill()
  assert.deepEqual(await ended, { code: 0, signal: null })
  read()
  const answered = linesOf(text.slice(0, text.lastIndexOf('\n'))).filter(({ msg }) => msg === 'answered')
  const logged = answered.map((line) => paths.indexOf(line.path))
  assert.ok(!logged.includes(-1) && logged.length < 60, `${logged}`)
  for (const first of [0, 31, 61]) assert.ok(logged.includes(first), `${logged}`)
})

it('in a terminal the log is for people, and does not wait while they have stopped it with Ctrl-S', {
  skip: findCommand(['script']) ? false : 'needs script of util-linux',
}, async () => {
  const typescript = join(directory.path, 'terminal.txt')
  const terminal = spawn('script', ['-qec', `exec "${process.execPath}" "${MAIN}"`, '-f', typescript], {
    cwd: directory.path,
    env: {
      PATH: process.env.PATH,
      SHELL: '/bin/sh',
      ...SETTINGS,
      DB_URL: 'sqlite:terminal.db',
      LOG_LEVEL: 'debug',
    },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const text = () =>
    existsSync(typescript) ? stripVTControlCharacters(readFileSync(typescript, 'utf8')) : ''
  const url = () => /"(http:.*)"/.exec(text())?.[1]
  while (url() === undefined && terminal.exitCode === null) await setTimeout(20)
  terminal.stdin.write('\x13')
  // So few that a terminal takes all of them, should it stop later.
  for (let i = 0; i < 30; i++) await fetch(url() ?? '')
  // What Ctrl-C sends.
  terminal.stdin.write('\x03')
  const [code] = await once(terminal, 'close')
  assert.equal(code, 0, text())
  assert.match(text(), /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: listening\r?\n {4}url: "http:.*INFO: stopped/ms)
})
