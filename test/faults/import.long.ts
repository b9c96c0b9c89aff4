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

const atRandom = () => setTimeout(Math.random() * DURATION)

describe('an import that is cut short', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  writeFileSync(join(directory.path, 'file.csv'), FILE)

  async function countStored(): Promise<number> {
    const store = await openStore(parseDbUrl(`sqlite:${directory.path}/books.db`), { timeout: 60_000 })
    return store.count({}).finally(() => store.close())
  }

  /** Sends a file. @returns what cuts the connection, and the status, if there is a whole response. */
  async function send({ url }: Service, file = FILE, query = 'skip_existing=false') {
    const headers = { authorization: await logIn(url), 'content-type': 'text/csv' }
    const sending = request(`${url}/books/import?${query}`, { method: 'POST', headers })
    const status = new Promise<number | undefined>((resolve) => {
      sending.on('error', () => resolve(undefined))
      sending.on('response', (response) =>
        text(response).then(
          () => resolve(response.statusCode),
          () => resolve(undefined),
        ),
      )
    })
    sending.end(file)
    return { status, cut: () => sending.destroy() }
  }

  /** @returns whether the import has said that it stored the file. */
  const CUTS: Record<string, () => Promise<boolean>> = {
    'the service is killed': async () => {
      const service = await startService(directory.path)
      const { status } = await send(service)
      await atRandom()
      await service.stop('SIGKILL')
      return (await status) === 200
    },
    'the service is stopped, which ends with code 0': async () => {
      const service = await startService(directory.path)
      const { status } = await send(service)
      await atRandom()
      assert.deepEqual(await service.stop(), { code: 0, signal: null })
      return (await status) === 200
    },
    'the client goes, after which the next can import': async () => {
      const service = await startService(directory.path)
      const { cut } = await send(service)
      await atRandom()
      cut()
      // It may be in its last step.
      const next = async () => (await send(service, 'title,author,year\n', 'dry_run=true')).status
      while ((await next()) !== 200) await setTimeout(50)
      await service.stop()
      return false
    },
    'the command gets SIGINT': async () => {
      const child = spawn(process.execPath, [MAIN, 'import', 'file.csv', '--no-skip-existing'], {
        cwd: directory.path,
        env: { PATH: process.env.PATH, DB_URL: 'sqlite:books.db' },
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const said = text(child.stdout)
      await atRandom()
      child.kill('SIGINT')
      return (await said) === `added ${ROWS} books, skipped 0\n`
    },
  }

  for (const [when, cut] of Object.entries(CUTS))
    it(`stores all or nothing when ${when} at random moments, ${ROUNDS} times`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const before = await countStored()
        const isSaid = await cut()
        const added = (await countStored()) - before
        assert.equal(added % ROWS, 0, `${added} of ${ROWS} rows`)
        if (isSaid) assert.equal(added, ROWS)
      }
    })
})
