import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { connect } from 'node:net'
import { resolve } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../support/free-port.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import { SECRET, temporaryDirectory } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const RESETS = 200

describe('a client that resets its connection', () => {
  const service = useService()

  for (const method of ['CONNECT a:1', 'GET /books', 'BREW /coffee']) {
    it(`after ${method}, ${RESETS} times, harms nobody`, async () => {
      const { hostname, port } = new URL(service.url)
      for (let i = 0; i < RESETS; i++) {
        const socket = connect(Number(port), hostname)
        socket.on('error', () => {})
        await once(socket, 'connect')
        await new Promise((sent) => socket.write(`${method} HTTP/1.1\r\nHost: a\r\n\r\n`, sent))
        socket.resetAndDestroy()
      }
      const response = await fetch(`${service.url}/books`, { headers: { authorization: service.token } })
      assert.equal(response.status, 200)
    })
  }

  it('in the middle of a file, lets others import, and is no failure in the log', async () => {
    const fields = { Authorization: service.token, 'Content-Type': 'text/csv' }
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
    const gone = await RawConnection.open(service.url)
    await gone.send(head('POST /books/import', ...lines, 'Content-Length: 100', 'Expect: 100-continue'))
    assert.equal((await gone.response()).status, 100)
    gone[Symbol.dispose]()
    const init = { method: 'POST', headers: fields, body: 'title,author,year\n' }
    while ((await fetch(`${service.url}/books/import`, init)).status === 503);
    assert.doesNotMatch(service.output(), /"level":[456]0/)
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
    const status = async (): Promise<number> => {
      while (child.exitCode === null) {
        try {
          return (await fetch(`http://127.0.0.1:${port}/books`)).status
        } catch {
          await setTimeout(50)
        }
      }
      throw new Error('no response')
    }
    assert.equal(await status(), 401)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  })
})
