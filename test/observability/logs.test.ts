import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, truncateSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { openFile } from '../store/sqlite/file.ts'
import { logIn } from '../support/client.ts'
import { fill } from '../support/damage.ts'
import {
  ACCOUNT,
  SECRET,
  type Service,
  START_TIME,
  startService,
  temporaryDirectory,
} from '../support/service.ts'

interface Line {
  readonly level: number
  readonly time: number
  readonly msg: string
  readonly reqId?: string
  readonly method?: string
  readonly path?: string
  readonly route?: string
  readonly ip?: string
  readonly status?: number
  readonly ms?: number
  readonly origin?: string
  readonly host?: string
  readonly reason?: string
  readonly err?: { readonly message: string; readonly stack: string }
}

const [DEBUG, INFO, WARN, ERROR] = [20, 30, 40, 50]

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

const directory = temporaryDirectory()
after(directory.remove)

/** Every line of what a service has written; each has to be a JSON object. */
const linesOf = (service: Service): Line[] =>
  service
    .output()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('at the default level', () => {
  it('the log says once for each origin what to set when a login is refused because of it', async () => {
    const service = await startService(directory.path)
    const refused = async (origin: string) => {
      const options = { method: 'POST', headers: { origin }, body: JSON.stringify(ACCOUNT) }
      assert.equal((await fetch(`${service.url}/token`, options)).status, 403)
    }
    for (const origin of ['https://books.example', 'https://books.example', 'http://10.0.0.1:8443'])
      await refused(origin)
    // Anybody can make them up.
    for (let i = 0; i < 30; i++) await refused(`https://${i}.example`)
    await service.stop()
    const lines = linesOf(service).filter(({ level }) => level === WARN)
    assert.deepEqual(
      lines.slice(0, 3).map(({ origin, host }) => [origin, host]),
      ['https://books.example', 'http://10.0.0.1:8443', 'https://0.example'].map((origin) => [
        origin,
        new URL(service.url).host,
      ]),
    )
    for (const name of ['proxy_set_header Host', 'TRUST_PROXY', 'CORS_ORIGIN'])
      assert.ok(lines[0]?.msg.includes(name), name)
    assert.equal(lines.length, 20)
  })

  it('the log tells of start, stop, a warning and each failure of ours, and of nothing else', async () => {
    const path = join(directory.path, 'books.db')
    const store = await openFile(path)
    await fill(store)
    await store.close()
    const service = await startService(directory.path, { LOGIN_FAILURE_LIMIT: '1' })
    const authorization = await logIn(service.url)
    const get = async (path: string) =>
      (await fetch(service.url + path, { headers: { authorization, 'x-request-id': 'mine' } })).status
    assert.equal(await get('/book/x'), 404)
    truncateSync(path, 4096)
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
    assert.equal(lines[1]?.reqId, 'mine')
    assert.deepEqual([lines[1]?.method, lines[1]?.route], ['GET', '/book/:id'])
    assert.match(lines[1]?.err?.message ?? '', /malformed|disk image|I\/O/)
    assert.match(lines[1]?.err?.stack ?? '', /\/src\/store\//)
    for (const { time } of lines) assert.ok(Math.abs(Date.now() - time) < 60_000)
  })
})

describe('at LOG_LEVEL=debug', () => {
  it('there is the reason why a body was refused, with the id of the request', async () => {
    const service = await startService(directory.path, { LOG_LEVEL: 'debug', DB_URL: 'sqlite:reasons.db' })
    const body = '{"username":"u","password":5}'
    const refused = await fetch(`${service.url}/token`, { method: 'POST', body })
    await service.stop()
    assert.deepEqual(
      linesOf(service)
        .filter(({ reason }) => reason !== undefined)
        .map(({ level, reqId, reason }) => ({ level, reqId, reason })),
      [{ level: DEBUG, reqId: refused.headers.get('x-request-id'), reason: 'password must be a string' }],
    )
  })

  it('there is one line for each request, with its id, which is that of the response', async () => {
    const service = await startService(directory.path, { LOG_LEVEL: 'debug', DB_URL: 'sqlite:debug.db' })
    const given = [
      ['a', true],
      ['quote"', false],
      [undefined, false],
    ] as const
    const ids = new Set<string>()
    const begin = performance.now()
    for (const [id, isKept] of given) {
      const response = await fetch(`${service.url}/book/1?password=secret`, {
        headers: id === undefined ? {} : { 'x-request-id': id },
      })
      const answered = response.headers.get('x-request-id') ?? ''
      if (isKept) assert.equal(answered, id)
      else assert.match(answered, UUID)
      ids.add(answered)
    }
    const twice = await fetch(service.url, {
      headers: [
        ['x-request-id', 'a'],
        ['x-request-id', 'b'],
      ],
    })
    assert.match(twice.headers.get('x-request-id') ?? '', UUID)
    ids.add(twice.headers.get('x-request-id') ?? '')
    const time = performance.now() - begin
    await service.stop()
    const responses = linesOf(service).filter(({ msg }) => msg === 'answered')
    assert.deepEqual(
      responses.map(({ reqId }) => reqId),
      [...ids],
    )
    for (const { method, path, ip, status, ms } of responses.slice(0, given.length)) {
      assert.deepEqual(
        { method, path, ip, status },
        { method: 'GET', path: '/book/1', ip: '127.0.0.1', status: 401 },
      )
      assert.ok(ms !== undefined && ms > 0 && ms < time)
    }
    assert.ok(!service.output().includes('secret'))
  })
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

  it('loses lines, and no part of one', {
    skip: existsSync('/bin/sh') ? false : 'needs a shell',
  }, async (t) => {
    const output = pathToFileURL(resolve(import.meta.dirname, '../../src/observability/logging.ts')).href
    const command = '"$0" --input-type=module -e "$1" "$2" | { read go <&3; cat; }'
    const { stdin, stdout, stderr, stdio } = spawn(
      'sh',
      ['-c', command, process.execPath, WRITE_LINES, output],
      { stdio: ['pipe', 'pipe', 'pipe', 'pipe'] },
    )
    t.after(() => stdin.end())
    await once(stderr, 'data')
    ;(stdio[3] as Writable).end('go\n')
    let text = ''
    for await (const chunk of stdout.setEncoding('utf8')) {
      text += chunk
      if (/"i":(?:[5-9]\d|\d{3})/.test(text)) stdin.end()
    }
    const numbers = text
      .trimEnd()
      .split('\n')
      .map((line): number => JSON.parse(line).i)
    assert.ok((numbers.at(-1) ?? 0) >= 50, 'others come when the pipe is empty again')
    const early = numbers.filter((i) => i < 50).length
    assert.ok(early > 4 && early < 50, `${early} lines`)
  })
})

const hasScript = spawnSync('script', ['--version']).status === 0 && existsSync('/bin/sh')

describe('in a terminal', { skip: hasScript ? false : 'needs script of util-linux' }, () => {
  it('the log is for people', async () => {
    const main = resolve(import.meta.dirname, '../../src/main.ts')
    const typescript = join(directory.path, 'terminal.txt')
    const terminal = spawn('script', ['-qec', `exec "${process.execPath}" "${main}"`, '-f', typescript], {
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
    const deadline = Date.now() + START_TIME
    while (!text().includes('listening') && Date.now() < deadline) await setTimeout(20)
    // What Ctrl-C sends.
    terminal.stdin.write('\x03')
    const [code] = await once(terminal, 'close')
    assert.equal(code, 0, text())
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
    const plain = text().replaceAll(/\x1b\[\d+m/g, '')
    assert.notEqual(plain, text(), 'there are colours')
    assert.match(plain, /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: listening\r?$/m)
    assert.match(plain, /^ {4}url: "http:\/\/127\.0\.0\.1:\d+"\r?$/m)
    assert.match(plain, /INFO: stopped/)
    assert.doesNotMatch(plain, /"level":/)
  })
})
