import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { promisify } from 'node:util'
import { ACCOUNT, startService, temporaryDirectory } from '../support/service.ts'
import { beginRequest, connectUntilRefused } from '../support/slow-request.ts'

const root = temporaryDirectory()
after(root.remove)
const newDirectory = () => mkdtempSync(join(root.path, 'service-'))

const UNCONFIGURED = { DB_URL: undefined, USERNAME: undefined, PASSWORD: undefined, SECRET_TOKEN: undefined }

it('without settings, makes data/books.db and another password each time, and prints a curl line that logs in', async () => {
  const directory = newDirectory()
  const passwords: string[] = []
  for (const settings of ['', `USERNAME=\`it's "me" $HOME \\\``]) {
    writeFileSync(join(directory, '.env'), settings)
    const service = await startService(directory, UNCONFIGURED)
    const [, password = '', line = ''] =
      /^ *password {2}(\S{20}) .*^ *(curl .*?)$/ms.exec(service.output()) ?? []
    const { stdout } = await promisify(execFile)('sh', ['-c', line])
    assert.match(stdout, /^\{"status":200,.*"data":\{"token":"[^"]+"\}\}$/)
    passwords.push(password)
    assert.match(service.output(), /SECRET_TOKEN is not set/)
    await service.stop()
  }
  assert.notEqual(passwords[0], passwords[1])
  assert.ok(existsSync(join(directory, 'data/books.db')))
})

it('listens on the IPv4 address of a HOST that is a name, also for the metrics; an IPv6 address has brackets in its URL', async () => {
  const named = `import dns from 'node:dns/promises'
    import { syncBuiltinESMExports } from 'node:module'
    const addresses = [{ address: '2001:db8::1', family: 6 }, { address: '127.0.0.2', family: 4 }]
    dns.lookup = async () => addresses
    syncBuiltinESMExports()`
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(named)}`]
  for (const [host, name] of Object.entries({ 'books.test': 'books.test', '::1': '[::1]' })) {
    const service = await startService(newDirectory(), { HOST: host, METRICS_PORT: '0' }, preload)
    const metrics = /"url":"(http:[^"]*metrics)"/.exec(service.output())?.[1] ?? ''
    for (const url of [`${service.url}/readyz`, metrics]) {
      assert.equal(new URL(url).hostname, name)
      assert.equal((await fetch(url.replace(name, '127.0.0.2'))).status, 200)
    }
    await service.stop()
  }
})

it('warns of a second service on one SQLite file, whatever its name, unless the first was killed', async () => {
  const directory = newDirectory()
  const settings = { DB_URL: 'sqlite:new/books.db' }
  const first = await startService(directory, settings)
  symlinkSync('new/books.db', join(directory, 'link.db'))
  const second = await startService(directory, { DB_URL: 'sqlite:link.db' })
  await first.stop('SIGKILL')
  await second.stop()
  const third = await startService(directory, settings)
  await third.stop()
  const warning = /"level":40.*DB_URL: another service uses this file/
  const warned = [first, second, third].map((service) => warning.test(service.output()))
  assert.deepEqual(warned, [false, true, false])
  assert.deepEqual(readdirSync(join(directory, 'new')), ['books.db'])
})

it('SIGUSR1 opens no inspector, no terminal escape gets into the log; SIGINT lets a request in flight finish, and ends with code 0', async () => {
  const directory = newDirectory()
  const service = await startService(directory, {
    LOG_LEVEL: 'debug',
    TRUST_PROXY: 'true',
    DB_URL: 'sqlite:\x7f.db',
  })
  service.process.kill('SIGUSR1')
  await fetch(`${service.url}/${encodeURIComponent('\n\x1b[2J')}`, {
    headers: { 'x-forwarded-for': '\x9b31m' },
  })
  const request = await beginRequest(service.url, JSON.stringify(ACCOUNT))
  const ended = service.stop('SIGINT')
  await assert.rejects(connectUntilRefused(service.url))
  request.finish()
  assert.match(await request.response(), /^HTTP\/1\.1 200 .*"Token generated successfully"/s)
  assert.deepEqual(await ended, { code: 0, signal: null })
  assert.deepEqual(readdirSync(directory), ['\x7f.db'], 'a closed database has no WAL beside it')
  assert.doesNotMatch(service.output(), /Debugger/)
  assert.match(service.output(), /"ip":"\\u009b31m"/)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  assert.doesNotMatch(service.output(), /[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
})
