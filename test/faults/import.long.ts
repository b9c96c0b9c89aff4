import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import { logIn } from '../support/client.ts'
import { MAIN } from '../support/command.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'

/** Rounds of each test; more of them by hand. */
const ROUNDS = Number(process.env.IMPORT_ROUNDS ?? 5)

const ROWS = 40_000
const FILE = `title,author,year\n${Array.from({ length: ROWS }, (_, i) => `Title ${i},"Author, ${i % 99}",${i}\n`).join('')}`

/** The longest time that such an import takes, about; milliseconds. */
const DURATION = 700

describe('an import that is cut short', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  async function countStored(): Promise<number> {
    const store = await openStore(parseDbUrl(`sqlite:${directory.path}/books.db`), { timeout: 60_000 })
    return store.count({}).finally(() => store.close())
  }

  /** Sends the file, and destroys the connection after so long. @returns the status, if there was a response. */
  function send(service: Service, token: string, cutAfter?: number): Promise<number | undefined> {
    return new Promise((resolve) => {
      const headers = { authorization: token, 'content-type': 'text/csv' }
      let isAnswered = false
      const sending = request(
        `${service.url}/books/import?skip_existing=false`,
        { method: 'POST', headers },
        (response) => {
          isAnswered = true
          const { statusCode } = response
          response
            .resume()
            .on('end', () => resolve(statusCode))
            .on('close', () => resolve(undefined))
        },
      )
      sending.on('error', () => resolve(undefined)).on('close', () => !isAnswered && resolve(undefined))
      if (cutAfter !== undefined) setTimeout(cutAfter).then(() => sending.destroy())
      sending.end(FILE)
    })
  }

  it(`stores all or nothing when the service is killed at random moments, ${ROUNDS} times`, async () => {
    let stored = 0
    for (let round = 0; round < ROUNDS; round++) {
      const service = await startService(directory.path)
      const token = await logIn(service.url)
      const sending = send(service, token)
      await setTimeout(Math.random() * DURATION)
      await service.stop('SIGKILL')
      const status = await sending
      const count = await countStored()
      assert.ok(count === stored || count === stored + ROWS, `${count - stored} of ${ROWS} rows`)
      if (status === 200) assert.equal(count, stored + ROWS)
      stored = count
    }
  })

  it(`stores all or nothing when the client goes at random moments, ${ROUNDS} times, and serves the next`, async () => {
    const service = await startService(directory.path)
    await using ending = new AsyncDisposableStack()
    ending.defer(async () => {
      await service.stop()
    })
    const token = await logIn(service.url)
    let stored = await countStored()
    for (let round = 0; round < ROUNDS; round++) {
      await send(service, token, Math.random() * DURATION)
      // It may be in its last step.
      while ((await send(service, token)) !== 200) await setTimeout(50)
      const count = await countStored()
      assert.ok([ROWS, 2 * ROWS].includes(count - stored), `${count - stored} of ${ROWS} rows`)
      stored = count
    }
  })

  it(`stores all or nothing when the command gets SIGINT at random moments, ${ROUNDS} times, and says which`, async () => {
    writeFileSync(join(directory.path, 'file.csv'), FILE)
    let stored = await countStored()
    for (let round = 0; round < ROUNDS; round++) {
      const options = { cwd: directory.path, env: { PATH: process.env.PATH, DB_URL: 'sqlite:books.db' } }
      const child = spawn(process.execPath, [MAIN, 'import', 'file.csv', '--no-skip-existing'], {
        ...options,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const said = text(child.stdout)
      await setTimeout(Math.random() * DURATION)
      child.kill('SIGINT')
      const isSaid = (await said) === `added ${ROWS} books, skipped 0\n`
      const count = await countStored()
      assert.equal(count, isSaid ? stored + ROWS : stored)
      stored = count
    }
  })
})
