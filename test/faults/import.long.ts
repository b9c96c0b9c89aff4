import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Store } from '../../src/catalogue/store.ts'
import { openPatiently } from '../store/new-database.ts'
import { logIn } from '../support/client.ts'
import { MAIN, runCommand } from '../support/command.ts'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { INHERITED, type Service, startService, temporaryDirectory } from '../support/service.ts'

/** Rounds of each test; more of them by hand. */
const ROUNDS = Number(process.env.IMPORT_ROUNDS ?? 3)

const ROWS = 20_000
const FILE = `title,author,year\n${Array.from({ length: ROWS }, (_, i) => `Title ${i},"Author, ${i % 99}",${i}\n`).join('')}`

/** The longest time that such an import takes, about; milliseconds. */
const DURATION = 700

const atRandom = () => setTimeout(Math.random() * DURATION)

async function use<Result>(url: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openPatiently(url)
  return work(store).finally(() => store.close())
}

const count = (url: string) => use(url, (store) => store.count({}))

/** Begins to import a file. @returns the status, 0 without a response; and what cuts the connection. */
async function send({ url }: Service, body = FILE, query = 'skip_existing=false') {
  const gone = new AbortController()
  const headers = { authorization: await logIn(url), 'content-type': 'text/csv' }
  const options = { method: 'POST', headers, body, signal: gone.signal }
  const status = fetch(`${url}/books/import?${query}`, options)
    .then((response) => response.text().then(() => response.status))
    .catch(() => 0)
  return { status, cut: () => gone.abort() }
}

for (const engine of ENGINES)
  describe(`what is cut short at random moments (${engine})`, { skip: engineMissing(engine) }, () => {
    const directory = temporaryDirectory()
    after(directory.remove)
    const file = join(directory.path, 'file.csv')
    writeFileSync(file, FILE)
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)
    const newUrl = async () =>
      databases
        ? await (await databases()).createDatabase()
        : `sqlite:${directory.path}/${crypto.randomUUID()}.db`
    let DB_URL = ''
    before(async () => {
      DB_URL = await newUrl()
    })
    const start = () => startService(directory.path, { DB_URL })
    const command = (...args: string[]) =>
      spawn(process.execPath, [MAIN, ...args], { env: { ...INHERITED, DB_URL }, cwd: directory.path })

    /** @returns whether the import has said that it stored the file, or that it did not; undefined if it has said nothing. */
    const CUTS: Record<string, () => Promise<boolean | undefined>> = {
      'the service is killed': async () => {
        const service = await start()
        const { status } = await send(service)
        await atRandom()
        await service.stop('SIGKILL')
        return (await status) === 200 || undefined
      },
      'the service is stopped, which ends with code 0': async () => {
        const service = await start()
        const { status } = await send(service)
        await atRandom()
        assert.deepEqual(await service.stop(), { code: 0, signal: null })
        return (await status) === 200 || undefined
      },
      'the client goes, after which the next can import': async () => {
        const service = await start()
        const { cut } = await send(service)
        await atRandom()
        cut()
        // It may be in its last step.
        const next = async () => (await send(service, 'title,author,year\n', 'dry_run=true')).status
        while ((await next()) !== 200) await setTimeout(50)
        await service.stop()
        return undefined
      },
      'the command gets SIGINT': async () => {
        const importing = command('import', file, '--no-skip-existing')
        const said = text(importing.stdout)
        await atRandom()
        importing.kill('SIGINT')
        return (await said) === `added ${ROWS} books, skipped 0\n`
      },
    }
    for (const [when, cut] of Object.entries(CUTS))
      it(`an import stores all or nothing when ${when}, ${ROUNDS} times`, async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const before = await count(DB_URL)
          const isStored = await cut()
          // Also more than once: a server may have been about to commit what a client before had sent.
          const added = (await count(DB_URL)) - before
          assert.equal(added % ROWS, 0, `${added} of ${ROWS} rows`)
          if (isStored !== undefined) assert.equal(added > 0, isStored)
        }
      })

    it(`a copy that is killed leaves the store empty or whole, ${ROUNDS} times, and the next one works`, async () => {
      const from = `sqlite:${directory.path}/source.db`
      await use(from, async (store) => {
        const books = Array.from({ length: 1000 }, (_, year) => ({ title: 'T', author: `A "${year}"`, year }))
        await store.import(
          (async function* () {
            for (let i = 0; i < 20; i++) yield books
          })(),
        )
        await store.delete(7)
      })
      for (let round = 0; round < ROUNDS; round++) {
        const to = await newUrl()
        const copying = command('copy', '--from', from, '--to', to)
        const ended = once(copying, 'exit')
        await atRandom()
        copying.kill('SIGKILL')
        await ended
        const copied = await count(to)
        assert.ok(copied === 0 || copied === 19_999, `${copied} books`)
        const again = await runCommand(directory.path, {}, 'copy', '--from', from, '--to', to)
        if (again.code === 0) assert.equal(copied, 0)
        else assert.match(again.stderr, /^Cannot copy: --to: there are books already; /m)
      }
    })
  })
