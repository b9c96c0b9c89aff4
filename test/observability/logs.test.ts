import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, truncateSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
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
import { EXP, hmacToken } from '../support/tokens.ts'

const [DEBUG, INFO, WARN, ERROR] = [20, 30, 40, 50]
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** Part of every secret of a client here that is none of the service's own. */
const MARK = 'hunter2'

const directory = temporaryDirectory()
after(directory.remove)

/** Makes a database with so many books that what is left of it, after `damage`, has not all of them. */
async function makeDatabase(name: string): Promise<{ damage: () => void }> {
  const path = join(directory.path, name)
  const store = await openFile(path)
  const book = { title: 'x'.repeat(1000), author: 'A', year: 1 }
  await store.import(Readable.from([Array(1500).fill(book)]))
  await store.close()
  return { damage: () => truncateSync(path, 4096) }
}

/** Every line of what a service has written; each has to be a JSON object. */
const linesOf = (service: Service) =>
  service
    .output()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

it('the log says once for each origin what to set when a login is refused because of it', async () => {
  const service = await startService(directory.path)
  const origins = ['https://books.example', 'https://books.example', 'http://10.0.0.1:8443']
  // Anybody can make them up.
  for (const origin of [...origins, ...Array.from({ length: 30 }, (_, i) => `https://${i}.example`)]) {
    const options = { method: 'POST', headers: { origin }, body: JSON.stringify(ACCOUNT) }
    assert.equal((await fetch(`${service.url}/token`, options)).status, 403)
  }
  await service.stop()
  const lines = linesOf(service).filter(({ level }) => level === WARN)
  const { host } = new URL(service.url)
  assert.deepEqual(
    lines.slice(0, 3).map((line) => [line.origin, line.host]),
    [...origins.slice(1), 'https://0.example'].map((origin) => [origin, host]),
  )
  for (const name of ['proxy_set_header Host', 'TRUST_PROXY', 'CORS_ORIGIN'])
    assert.ok(lines[0]?.msg.includes(name), name)
  assert.equal(lines.length, 20)
})

it('the log tells of start, stop, a warning and each failure of ours, and of nothing else', async () => {
  const { damage } = await makeDatabase('books.db')
  const service = await startService(directory.path, { LOGIN_FAILURE_LIMIT: '1' })
  const authorization = await logIn(service.url)
  const get = async (path: string) =>
    (await fetch(service.url + path, { headers: { authorization, 'x-request-id': 'mine' } })).status
  assert.equal(await get('/book/x'), 404)
  damage()
  assert.equal(await get('/book/250'), 500)
  await fetch(`${service.url}/token`, { method: 'POST', body: '{}' })
  await service.stop()
  const lines = linesOf(service)
  assert.deepEqual(
    lines.map(({ level, msg }) => [level, msg]),
    [
      [INFO, 'listening'],
      [ERROR, 'Internal server error'],
      [WARN, 'too many failed logins from this address'],
      [INFO, 'stopping'],
      [INFO, 'stopped'],
    ],
  )
  const { reqId, method, route, err } = lines[1]
  assert.deepEqual([reqId, method, route], ['mine', 'GET', '/book/:id'])
  assert.match(err.message, /malformed|disk image|I\/O/)
  assert.match(err.stack, /\/src\/store\//)
  const now = Date.now()
  for (const { time } of lines) assert.ok(time <= now && time > now - 3600_000)
})

it('at LOG_LEVEL=debug there is one line for each request, with its id, and why a body was refused', async () => {
  const service = await startService(directory.path, { LOG_LEVEL: 'debug', DB_URL: 'sqlite:debug.db' })
  const begin = performance.now()
  const ids: (string | null)[] = []
  for (const given of [['a'], ['quote"'], [], ['a', 'b']]) {
    const headers = given.map((id): [string, string] => ['x-request-id', id])
    const response = await fetch(`${service.url}/book/1?password=secret`, { headers })
    ids.push(response.headers.get('x-request-id'))
  }
  assert.equal(ids[0], 'a')
  for (const id of ids.slice(1)) assert.match(id ?? '', UUID)
  const body = '{"username":"u","password":5}'
  const refused = await fetch(`${service.url}/token`, { method: 'POST', body })
  ids.push(refused.headers.get('x-request-id'))
  const time = performance.now() - begin
  await service.stop()
  const lines = linesOf(service)
  const responses = lines.filter(({ msg }) => msg === 'answered')
  assert.deepEqual(
    responses.map(({ reqId }) => reqId),
    ids,
  )
  for (const { method, path, ip, status, ms } of responses.slice(0, -1)) {
    assert.deepEqual([method, path, ip, status], ['GET', '/book/1', '127.0.0.1', 401])
    assert.ok(ms > 0 && ms < time)
  }
  const reasons = lines.filter(({ reason }) => reason !== undefined)
  assert.deepEqual(
    reasons.map(({ level, reqId, reason }) => [level, reqId, reason]),
    [[DEBUG, ids.at(-1), 'password must be a string']],
  )
  assert.ok(!service.output().includes('secret'))
})

// Each service is checked for the password, the secret and tokens when it ends.
it('at LOG_LEVEL=trace no line has a secret: of any request, and of failures of the store', async () => {
  const { damage } = await makeDatabase('traced.db')
  const settings = {
    LOG_LEVEL: 'trace',
    LOGIN_FAILURE_LIMIT: '2',
    CORS_ORIGIN: '*',
    DB_URL: 'sqlite:traced.db',
  }
  const service = await startService(directory.path, settings)
  const token = await logIn(service.url)
  const account = JSON.stringify(ACCOUNT)
  const logins = [
    account,
    JSON.stringify({ ...ACCOUNT, password: MARK }),
    JSON.stringify({ username: MARK, password: ACCOUNT.password }),
    JSON.stringify({ ...ACCOUNT, password: [ACCOUNT.password] }),
    account.slice(0, -1),
    `${account}${MARK}`,
  ]
  const forged = [hmacToken({ exp: 1 }), hmacToken({ exp: EXP }, { secret: MARK }), `${MARK}.${MARK}.${MARK}`]
  const book = '{"title":"T","author":"A","year":1}'
  const requests = (authorization: string) => [
    [`GET /books?token=${authorization}`],
    [`GET /book/250?password=${MARK}`],
    ['POST /book', book],
    ['POST /book', `{"title":"${MARK}"`],
    ['POST /book', `"${MARK.repeat(200_000)}"`],
    ['PUT /book/250', '{"year":"x"}'],
    [`DELETE /book/252?${MARK}`],
    [`PATCH /book/1?${MARK}`],
    [`GET /nowhere?${MARK}#${MARK}`],
    ['GET /readyz'],
  ]
  const calls = [
    ...logins.map((body) => [token, 'POST /token', body]),
    ...[token, `Bearer ${token}`, ...forged].flatMap((each) => requests(each).map((call) => [each, ...call])),
  ]
  const statuses = new Set<number>()
  const callAll = async () => {
    for (const [authorization = '', line = '', body] of calls) {
      const [method = '', target] = line.split(' ')
      const headers = { authorization, origin: 'http://a.example', cookie: MARK, 'x-request-id': `"${MARK}"` }
      const response = await fetch(service.url + target, {
        method,
        headers,
        ...(body !== undefined && { body }),
      })
      await response.arrayBuffer().catch(() => undefined)
      statuses.add(response.status)
    }
  }
  await callAll()
  for (const bytes of [
    head(`${MARK} /`, `Authorization: ${token}`),
    head('GET /books', `Authorization: ${token}`, MARK),
    head('GET /books', `Authorization: ${token}${MARK.repeat(5000)}`),
    head(`CONNECT ${MARK}:443`, `Authorization: ${token}`),
    head(`GET http://user:${MARK}@test/`, `Authorization: ${token}`),
    `${head('POST /token', 'Transfer-Encoding: chunked')}zz${ACCOUNT.password}\r\n`,
  ]) {
    using connection = await RawConnection.open(service.url)
    await connection.send(bytes)
    statuses.add((await connection.response()).status)
  }
  damage()
  await callAll()
  for (const status of [200, 201, 400, 401, 404, 405, 413, 429, 431, 500, 503])
    assert.ok(statuses.has(status), `no response was ${status}`)
  await service.stop()
  const lines = service.output().split('\n')
  assert.deepEqual(
    lines.filter((line) => line.includes(MARK)),
    [],
  )
  assert.ok(lines.length > 2 * calls.length, 'requests are logged')
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

/** Writes lines that are longer than what a pipe takes at once or not at all, and then others until its input ends. */
const WRITE_LINES = `
  const { output } = await import(process.argv[1])
  // This makes a pipe non-blocking.
  process.stdout.isTTY
  const write = (i) => output.write(JSON.stringify({ i, text: 'x'.repeat(10_000) }) + '\\n')
  let i = 0
  while (i < 50) write(i++)
  process.stderr.write('written')
  setInterval(() => write(i++), 50)
  process.stdin.resume().once('end', () => process.exit())`

describe('a log that nobody reads for a while', () => {
  it('keeps the service neither from answering nor from ending', async () => {
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

  it('loses lines, and no part of one', async (t) => {
    const output = pathToFileURL(resolve(import.meta.dirname, '../../src/observability/logging.ts')).href
    const command = '"$0" --input-type=module -e "$1" "$2" | { read go <&3; cat; }'
    const args = ['-c', command, process.execPath, WRITE_LINES, output]
    const { stdin, stdout, stderr, stdio } = spawn('sh', args, { stdio: ['pipe', 'pipe', 'pipe', 'pipe'] })
    t.after(() => stdin.end())
    await once(stderr, 'data')
    ;(stdio[3] as Writable).end('go\n')
    let text = ''
    for await (const chunk of stdout.setEncoding('utf8')) {
      text += chunk
      if (/"i":(?:[5-9]\d|\d{3})/.test(text)) stdin.end()
    }
    const lines = text.trimEnd().split('\n')
    const numbers = lines.map((line): number => JSON.parse(line).i)
    assert.ok((numbers.at(-1) ?? 0) >= 50, 'others come when the pipe is empty again')
    const early = numbers.filter((i) => i < 50).length
    assert.ok(early > 4 && early < 50, `${early} lines`)
  })
})

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
  assert.match(
    plain,
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: listening\r?\n {4}url: "http:\/\/127\.0\.0\.1:\d+"\r?$/m,
  )
  assert.match(plain, /INFO: stopped/)
  assert.doesNotMatch(plain, /"level":/)
})
