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

it('the log tells of start, stop, a warning and each failure of ours, and of nothing else', async () => {
  const { damage } = await makeDatabase('books.db')
  const service = await startService(directory.path, { LOGIN_FAILURE_LIMIT: '1' })
  const authorization = await logIn(service.url)
  const get = async (path: string) =>
    (await fetch(service.url + path, { headers: { authorization, 'x-request-id': 'mine' } })).status
  assert.equal(await get('/book/x'), 404)
  damage()
  assert.equal(await get('/book/250'), 500)
  const logInFrom = async (origin: string, body: object = ACCOUNT) => {
    const options = { method: 'POST', headers: { origin }, body: JSON.stringify(body) }
    return (await fetch(`${service.url}/token`, options)).status
  }
  assert.equal(await logInFrom(service.url, {}), 401)
  const origins = ['https://books.example', 'http://10.0.0.1:8443']
  // Anybody can make them up.
  for (let i = 0; i < 30; i++) origins.push(`https://${i}.example`)
  for (const origin of ['https://books.example', ...origins]) assert.equal(await logInFrom(origin), 403)
  await service.stop()
  const refused = 'a login is refused because of its origin'
  const lines = linesOf(service)
  const messages = lines.map(({ level, msg, origin }) => [level, origin === undefined ? msg : refused])
  assert.deepEqual(messages, [
    [INFO, 'listening'],
    [ERROR, 'Internal server error'],
    [WARN, 'too many failed logins from this address'],
    ...Array(20).fill([WARN, refused]),
    [INFO, 'stopping'],
    [INFO, 'stopped'],
  ])
  const { reqId, method, route, err } = lines[1]
  assert.deepEqual([reqId, method, route], ['mine', 'GET', '/book/:id'])
  assert.match(err.message, /malformed|disk image|I\/O/)
  assert.match(err.stack, /\/src\/store\//)
  const { host } = new URL(service.url)
  for (const [i, line] of lines.slice(3, 23).entries())
    assert.deepEqual([line.origin, line.host], [origins[i], host])
  for (const name of ['proxy_set_header Host', 'TRUST_PROXY', 'CORS_ORIGIN'])
    assert.ok(lines[3].msg.includes(name), name)
  const now = Date.now()
  for (const { time } of lines) assert.ok(time <= now && time > now - 3600_000)
})

// Each service is checked for the password, the secret and tokens when it ends.
it('at LOG_LEVEL=trace each request has a line with its id, and no line has a secret', async () => {
  const { damage } = await makeDatabase('traced.db')
  const settings = { LOG_LEVEL: 'trace', CORS_ORIGIN: '*', DB_URL: 'sqlite:traced.db' }
  const service = await startService(directory.path, { ...settings, LOGIN_FAILURE_LIMIT: '2' })
  const token = await logIn(service.url)
  const begin = performance.now()
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
  const requests = (authorization: string) => [
    [`GET /books?token=${authorization}`],
    [`GET /book/250?password=${MARK}`],
    ['POST /book', '{"title":"T","author":"A","year":1}'],
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
  const responses: [id: string, method: string, path: string, status: number][] = []
  const callAll = async () => {
    for (const [i, [authorization = '', line = '', body]] of calls.entries()) {
      const [method = '', target = ''] = line.split(' ')
      // Of these ids, only one may be used, and once.
      const id: string = ['mine', `"${MARK}"`, 'a, b'][i] ?? ''
      const headers = { authorization, origin: 'http://a.example', cookie: MARK, 'x-request-id': id }
      const response = await fetch(service.url + target, { method, headers, ...(body && { body }) })
      await response.arrayBuffer().catch(() => undefined)
      const given = response.headers.get('x-request-id') ?? ''
      assert.match(given, id === 'mine' ? /^mine$/ : UUID)
      responses.push([given, method, target.replace(/[?#].*/, ''), response.status])
    }
  }
  await callAll()
  const statuses = new Set<number>()
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
  const elapsed = performance.now() - begin
  for (const [, , , status] of responses) statuses.add(status)
  for (const status of [200, 201, 400, 401, 404, 405, 413, 429, 431, 500, 503])
    assert.ok(statuses.has(status), `no response was ${status}`)
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
  for (const { level, ip, ms } of answered)
    assert.ok(level === DEBUG && ip === '127.0.0.1' && ms > 0 && ms < elapsed)
  const reasons = lines.filter(({ reason }) => reason !== undefined)
  assert.ok(reasons.some(({ reason }) => /^year must be/.test(reason)))
  for (const { level, reqId } of reasons) assert.ok(level === DEBUG && ids.has(reqId))
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
