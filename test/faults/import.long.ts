import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Store } from '../../src/catalogue/store.ts'
import { openPatiently } from '../store/new-database.ts'
import { inGroups } from '../store/pages.ts'
import { logIn } from '../support/client.ts'
import { MAIN, runCommand } from '../support/command.ts'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { INHERITED, startService, temporaryDirectory } from '../support/service.ts'

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

for (const engine of ENGINES)
  describe(`what is cut short at random moments (${engine})`, { skip: engineMissing(engine) }, () => {
    const directory = temporaryDirectory()
    after(directory.remove)
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)
    const newUrl = async () =>
      databases
        ? await (await databases()).createDatabase()
        : `sqlite:${directory.path}/${crypto.randomUUID()}.db`

    for (const signal of ['SIGKILL', 'SIGTERM'] as const)
      it(`an import stores all or nothing when the service gets ${signal}, ${ROUNDS} times`, async () => {
        const DB_URL = await newUrl()
        let before = 0
        for (let round = 0; round < ROUNDS; round++) {
          const { url, stop } = await startService(directory.path, { DB_URL })
          const headers = { authorization: await logIn(url), 'content-type': 'text/csv' }
          const sent = fetch(`${url}/books/import?skip_existing=false`, {
            method: 'POST',
            headers,
            body: FILE,
          })
          const status = sent.then((response) => response.text().then(() => response.status)).catch(() => 0)
          await atRandom()
          assert.equal((await stop(signal)).code, signal === 'SIGTERM' ? 0 : null)
          const stored = await count(DB_URL)
          // Also more than once: a server may have been about to commit what a client before had sent.
          assert.equal((stored - before) % ROWS, 0, `${stored - before} of ${ROWS} rows`)
          if ((await status) === 200) assert.ok(stored > before)
          before = stored
        }
      })

    it(`a copy that is killed leaves the store empty or whole, ${ROUNDS} times, and the next one works`, async () => {
      const from = `sqlite:${directory.path}/source.db`
      await use(from, async (store) => {
        await store.import(
          inGroups(
            Array.from({ length: 20_000 }, (_, year) => ({ title: 'T', author: `A "${year}"`, year })),
          ),
        )
        await store.delete(7)
      })
      for (let round = 0; round < ROUNDS; round++) {
        const to = await newUrl()
        const copying = spawn(process.execPath, [MAIN, 'copy', '--from', from, '--to', to], {
          env: INHERITED,
        })
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
