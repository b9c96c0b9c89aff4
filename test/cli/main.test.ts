import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import { promisify } from 'node:util'
import {
  ACCOUNT,
  SECRET,
  type Service,
  spawnService,
  startService,
  temporaryDirectory,
} from '../support/service.ts'
import { beginRequest, connectUntilRefused } from '../support/slow-request.ts'

/** Those of a test that failed do not outlive it. */
const started: Service[] = []
afterEach(() => {
  for (const { process } of started.splice(0)) process.kill('SIGKILL')
})

async function start(...args: Parameters<typeof startService>): Promise<Service> {
  const service = await startService(...args)
  started.push(service)
  return service
}

const UNCONFIGURED = { DB_URL: undefined, USERNAME: undefined, PASSWORD: undefined, SECRET_TOKEN: undefined }

describe('first run without any configuration', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  it('makes data/books.db and another password each time, and prints a curl line that logs in as printed', async () => {
    const passwords = new Set<string | undefined>()
    for (const settings of ['', `USERNAME=\`it's "me" $HOME \\\``]) {
      writeFileSync(join(directory.path, '.env'), settings)
      const service = await start(directory.path, UNCONFIGURED)
      const line = /^ *(curl .*)$/m.exec(service.output())?.[1]
      assert.ok(line !== undefined, service.output())
      const { stdout } = await promisify(execFile)('sh', ['-c', line])
      assert.match(
        stdout,
        /^\{"status":200,"message":"Token generated successfully","data":\{"token":"[^"]+"\}\}$/,
      )
      passwords.add(/password {2}(\S{20})/.exec(service.output())?.[1])
      assert.match(service.output(), /SECRET_TOKEN is not set/)
      await service.stop()
    }
    assert.equal(passwords.size, 2)
    assert.ok(!passwords.has(undefined))
    assert.ok(existsSync(join(directory.path, 'data/books.db')))
  })
})

describe('configuration', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  it('prints no secret when everything is configured', async () => {
    const service = await start(directory.path, { LOG_LEVEL: 'trace' })
    await fetch(`${service.url}/token`, { method: 'POST', body: JSON.stringify(ACCOUNT) })
    await service.stop()
    assert.ok(!service.output().includes(ACCOUNT.password))
    assert.ok(!service.output().includes(SECRET))
    assert.doesNotMatch(service.output(), /curl|eyJ/)
  })

  it('reads a .env file, and lets the environment come before it', async () => {
    const cwd = join(directory.path, 'env')
    mkdirSync(cwd)
    writeFileSync(join(cwd, '.env'), 'USERNAME=from-the-file\nPASSWORD="a # b"\nDB_URL=sqlite:file.db\n')
    const service = await start(cwd, { ...UNCONFIGURED, DB_URL: 'sqlite:environment.db' })
    const login = JSON.stringify({ username: 'from-the-file', password: 'a # b' })
    const { status } = await fetch(`${service.url}/token`, { method: 'POST', body: login })
    await service.stop()
    assert.equal(status, 200)
    assert.ok(existsSync(join(cwd, 'environment.db')))
    assert.ok(!existsSync(join(cwd, 'file.db')))
  })

  for (const [what, file, environment, username, host] of [
    [
      'desktops and conda set',
      'USERNAME=of-the-file\nHOST=127.0.0.1\n',
      { USERNAME: 'me', HOST: 'x.invalid' },
      'of-the-file',
      '127.0.0.1',
    ],
    [
      'come with a PASSWORD, and are in the file too',
      'USERNAME=of-the-file\n',
      { USERNAME: 'me', PASSWORD: 'p', HOST: '127.0.0.1' },
      'of-the-file',
      '127.0.0.1',
    ],
    [
      'come with a PASSWORD',
      'PASSWORD=q\n',
      { USERNAME: 'me', PASSWORD: 'p', HOST: '127.0.0.1' },
      'me',
      '127.0.0.1',
    ],
    ['come without a PASSWORD', 'PASSWORD=q\n', { USERNAME: 'me', HOST: '127.0.0.1' }, 'admin', '127.0.0.1'],
  ] as const) {
    it(`takes USERNAME and HOST from the file rather than as others set them: as they ${what}`, async () => {
      const cwd = mkdtempSync(join(directory.path, 'others-'))
      writeFileSync(join(cwd, '.env'), file)
      const service = await start(cwd, { ...UNCONFIGURED, ...environment })
      await service.stop()
      const line = JSON.parse(
        service
          .output()
          .split('\n')
          .find((line) => line.includes('"listening"')) ?? '',
      )
      assert.deepEqual([line.username, new URL(line.url).hostname], [username, host])
    })
  }

  it('warns of a secret under 32 bytes', async () => {
    const short = await start(directory.path, { SECRET_TOKEN: 'short' })
    await short.stop()
    assert.match(short.output(), /SECRET_TOKEN is shorter than 32 bytes/)
    assert.ok(!short.output().includes('"short"'))
  })
})

describe('a HOST that is a name', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  /** 192.0.2.1 is no address of this machine, as ::1 without IPv6. */
  const named = `import dns from 'node:dns/promises'
    import { syncBuiltinESMExports } from 'node:module'
    const { lookup } = dns
    const addresses = ['192.0.2.1', '127.0.0.2', '127.0.0.2', '127.0.0.1'].map((address) => ({ address }))
    dns.lookup = async (name, options) => name === 'books.test' ? addresses : lookup(name, options)
    syncBuiltinESMExports()`
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(named)}`]

  for (const THREADS of ['1', '2']) {
    it(`is listened on at all of its addresses, also for the metrics; ${THREADS} threads`, async () => {
      const service = await start(directory.path, { HOST: 'books.test', METRICS_PORT: '0', THREADS }, preload)
      const metrics = /"url":"(http:[^"]*metrics)"/.exec(service.output())?.[1] ?? ''
      assert.equal(new URL(service.url).hostname, 'books.test')
      const at = (url: string, address: string) => url.replace('books.test', address)
      for (const address of ['127.0.0.1', '127.0.0.2']) {
        assert.equal((await fetch(`${at(service.url, address)}/readyz`)).status, 200)
        assert.equal((await fetch(at(metrics, address))).status, 200)
      }
      const urls = ['127.0.0.2', '127.0.0.1'].map((address) => at(service.url, address))
      const requests = urls.map((url) => beginRequest(url, JSON.stringify(ACCOUNT)))
      for (const { begun } of requests) await begun
      const ended = service.stop()
      for (const url of urls) await assert.rejects(connectUntilRefused(url))
      for (const { finish, response } of requests) {
        finish()
        assert.match(await response, /^HTTP\/1\.1 200 /)
      }
      assert.deepEqual(await ended, { code: 0, signal: null })
    })
  }

  it('is refused where another program listens on one of them', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    await assert.rejects(
      start(directory.path, { HOST: 'books.test', PORT: String(port) }, preload),
      new RegExp(`PORT: ${port} is in use`),
    )
    other.close()
  })
})

describe('refusal to start: exit code 1, what to do, no stack trace', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const file = (name: string) => join(directory.path, name)

  /** Starts the service with these settings, expects it to refuse, and answers the lines that it said. */
  async function refusal(settings: Record<string, string>, cwd = directory.path): Promise<string[]> {
    const { output, ended } = spawnService(cwd, {
      PORT: '0',
      HOST: '127.0.0.1',
      PASSWORD: 'hunter2',
      ...settings,
    })
    assert.deepEqual(await ended, { code: 1, signal: null }, output())
    assert.ok(!output().includes('hunter2'), 'a secret was printed')
    return output().trimEnd().split('\n')
  }

  it('names every faulty setting at once, and no secret', async () => {
    const lines = await refusal({
      DB_URL: 'mongodb://user:hunter2@host/books',
      SECRET_TOKEN: '',
      USERNAME: '',
      PORT: '80a',
      HOST: '',
      LOG_LEVEL: 'loud',
    })
    const settings = ['DB_URL', 'SECRET_TOKEN', 'USERNAME', 'PORT', 'HOST', 'LOG_LEVEL']
    assert.equal(lines.length, settings.length)
    for (const [i, setting] of settings.entries()) {
      assert.match(lines[i] ?? '', new RegExp(`\\b${setting} (is|has) .*; accepted: .+`))
    }
  })

  it('a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const lines = await refusal({ PORT: String(port) })
    other.close()
    assert.equal(lines.length, 1)
    assert.match(lines[0] ?? '', new RegExp(`PORT: ${port} is in use`))
  })

  // conda sets such a name.
  for (const HOST of ['192.0.2.1', 'x86_64-conda-linux-gnu'])
    it(`a host that is not of this machine: ${HOST}`, async () => {
      const [line = '', ...more] = await refusal({ HOST })
      assert.ok(line.startsWith(`Cannot start: HOST: ${HOST} cannot be listened on: `), line)
      assert.match(line, /; set HOST in the file of settings, which comes before the environment, to /)
      assert.deepEqual(more, [])
    })

  it('a directory that cannot be written', async () => {
    // The superuser may write everywhere else.
    assert.match(
      (await refusal({ DB_URL: 'sqlite:/proc/books/books.db' })).join('|'),
      /^Cannot start: DB_URL: [^|]*\/proc\/books\/books\.db[^|]*$/,
    )
  })

  it('a directory in place of the file', async () => {
    mkdirSync(file('folder'))
    assert.match(
      (await refusal({ DB_URL: 'sqlite:folder' })).join('|'),
      /^Cannot start: DB_URL: [^|]*folder[^|]*$/,
    )
  })

  it('a file that is no database', async () => {
    writeFileSync(file('notes.txt'), 'These are my notes. '.repeat(500))
    assert.match(
      (await refusal({ DB_URL: 'sqlite:notes.txt' })).join('|'),
      /^Cannot start: DB_URL: [^|]*notes\.txt[^|]*not a database$/,
    )
  })

  it('a .env that cannot be read', async () => {
    const cwd = file('unreadable')
    mkdirSync(join(cwd, '.env'), { recursive: true })
    assert.match((await refusal({}, cwd)).join('|'), /^Cannot start: the file \.env cannot be read: [^|]*$/)
  })
})

describe('a second service on one SQLite file', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const WARNING = /"level":40.*DB_URL: another service uses this file/

  it('warns, unless the first was killed or has ended', async () => {
    const first = await start(directory.path)
    const second = await start(directory.path)
    await first.stop('SIGKILL')
    await second.stop()
    const third = await start(directory.path)
    await third.stop('SIGKILL')
    const fourth = await start(directory.path)
    await fourth.stop()
    const warned = [first, second, third, fourth].map((service) => WARNING.test(service.output()))
    assert.deepEqual(warned, [false, true, false, false])
    assert.deepEqual(readdirSync(directory.path), ['books.db'])
  })
})

describe('signals', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`SIGUSR1 opens no inspector; ${signal} closes idle connections and the store, and ends with code 0`, async () => {
      const service = await start(directory.path)
      service.process.kill('SIGUSR1')
      await (await fetch(`${service.url}/books`)).text()
      assert.deepEqual(await service.stop(signal), { code: 0, signal: null })
      assert.deepEqual(readdirSync(directory.path), ['books.db'], 'a closed database has no WAL beside it')
      assert.doesNotMatch(service.output(), /Debugger/)
    })
  }

  it('SIGTERM stops accepting and lets a request in flight finish', async () => {
    const service = await start(directory.path)
    const body = JSON.stringify(ACCOUNT)
    const request = beginRequest(service.url, body)
    await request.begun
    const ended = service.stop()
    await assert.rejects(connectUntilRefused(service.url))
    request.finish()
    assert.match(await request.response, /^HTTP\/1\.1 200 .*"Token generated successfully"/s)
    assert.deepEqual(await ended, { code: 0, signal: null })
  })

  it('another signal after a second ends the process at once, in spite of a request that does not finish', async () => {
    const service = await start(directory.path)
    const request = beginRequest(service.url, JSON.stringify(ACCOUNT))
    await request.begun
    const ended = service.stop()
    await assert.rejects(connectUntilRefused(service.url))
    const again = setInterval(() => service.process.kill('SIGTERM'), 100)
    assert.deepEqual(await ended, { code: null, signal: 'SIGTERM' })
    clearInterval(again)
  })

  it('a client that never finishes does not keep the process from ending with code 0', async () => {
    const service = await start(directory.path)
    const request = beginRequest(service.url, JSON.stringify(ACCOUNT))
    await request.begun
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
  })
})
