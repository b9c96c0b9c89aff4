import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../support/free-port.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import { SECRET, temporaryDirectory } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

describe('a client that resets its connection', () => {
  const service = useService()

  it('harms nobody', async () => {
    for (const line of ['CONNECT a:1', 'GET /books', 'BREW /coffee'])
      for (let i = 0; i < 50; i++) {
        const connection = await RawConnection.open(service.url)
        await connection.send(head(line))
        connection.reset()
      }
    const response = await fetch(`${service.url}/books`, { headers: { authorization: service.token } })
    assert.equal(response.status, 200)
  })
})

describe('line breaks and terminal escapes', () => {
  const service = useService(undefined, { LOG_LEVEL: 'debug', TRUST_PROXY: 'true' })

  it('get into no header and no line of the log', async () => {
    for (const evil of ['\r\nX-Evil: 1', '\n{"level":60}', '\x1b[2J', '\x9b2J', '\u2028']) {
      using connection = await RawConnection.open(service.url)
      const fields = [`X-Request-Id: a${evil}`, 'X-Forwarded-For: \x9b31m']
      await connection.send(Buffer.from(head(`GET /${encodeURIComponent(evil)}`, ...fields), 'latin1'))
      const response = await connection.response()
      assert.equal(response.headers.has('x-evil'), false)
      // What the parser refuses has no id.
      assert.match(response.headers.get('x-request-id') ?? 'none', /^(?:a|none|[\da-f-]{36})$/)
    }
    while (!service.output().includes('u009b31m')) await setTimeout(10)
    const whole = service.output().replace(/[^\n]*$/, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    assert.doesNotMatch(whole, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
    for (const line of whole.trimEnd().split('\n')) assert.ok(JSON.parse(line).level < 60, line)
  })
})

describe('a log that cannot be written', {
  skip: existsSync('/dev/full') ? false : 'needs /dev/full',
}, () => {
  it('keeps the service neither from answering nor from ending', async (t) => {
    const directory = temporaryDirectory()
    t.after(directory.remove)
    const port = await freePort()
    const child = spawn(process.execPath, [resolve(import.meta.dirname, '../../src/main.ts')], {
      cwd: directory.path,
      env: { PORT: String(port), HOST: '127.0.0.1', LOG_LEVEL: 'trace', SECRET_TOKEN: SECRET },
      stdio: ['ignore', openSync('/dev/full', 'w'), 'ignore'],
    })
    t.after(() => child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    const ask = () => fetch(`http://127.0.0.1:${port}/books`).catch(() => undefined)
    let response = await ask()
    for (; response === undefined && child.exitCode === null; response = await ask()) await setTimeout(50)
    assert.equal(response?.status, 401)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  })
})
