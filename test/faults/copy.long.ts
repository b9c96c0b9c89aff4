import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Store } from '../../src/catalogue/store.ts'
import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import { listAll } from '../store/pages.ts'
import { MAIN, runCommand, withoutStores } from '../support/command.ts'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { temporaryDirectory } from '../support/service.ts'

/** Rounds of each test; more of them by hand. */
const ROUNDS = Number(process.env.COPY_ROUNDS ?? 3)

const BOOKS = 20_000
const DELETED = [1, 7, BOOKS]

describe('a copy that is killed', { skip: engineMissing('postgres') || engineMissing('mysql') }, () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const postgres = useDatabases('postgres')
  const mysql = useDatabases('mysql')
  let files = 0
  const stores = {
    'a file': async () => `sqlite:${join(directory.path, `${files++}.db`)}`,
    PostgreSQL: async () => (await postgres()).createDatabase(),
    MariaDB: async () => (await mysql()).createDatabase(),
  }

  async function use<Result>(url: string, work: (store: Store) => Promise<Result>): Promise<Result> {
    const store = await openStore(parseDbUrl(url), { timeout: 60_000 })
    return work(store).finally(() => store.close())
  }
  const copy = (from: string, to: string) =>
    runCommand(directory.path, {}, 'copy', '--from', from, '--to', to)
  const booksIn = (url: string) => use(url, async (store) => JSON.stringify(await listAll(store)))

  /** Fills a store with books, of which a few are missing. */
  const fill = (url: string) =>
    use(url, async (store) => {
      async function* books() {
        for (let i = 0; i < BOOKS / 1000; i++)
          yield Array.from({ length: 1000 }, (_, n) => ({ title: `Title ${i}`, author: `A "${n}"`, year: n }))
      }
      await store.import(books())
      for (const id of DELETED) await store.delete(id)
    })

  for (const [source, target] of [
    ['a file', 'PostgreSQL'],
    ['a file', 'MariaDB'],
    ['PostgreSQL', 'a file'],
  ] as const) {
    it(`leaves ${target} empty or whole, ${ROUNDS} times, and the next copy works`, async () => {
      const from = await stores[source]()
      await fill(from)
      const original = await booksIn(from)
      const begin = performance.now()
      assert.equal((await copy(from, await stores[target]())).code, 0)
      const duration = performance.now() - begin
      for (let round = 0; round < ROUNDS; round++) {
        const to = await stores[target]()
        const child = spawn(process.execPath, [MAIN, 'copy', '--from', from, '--to', to], { stdio: 'ignore' })
        const ended = once(child, 'exit')
        await setTimeout(Math.random() * duration)
        child.kill('SIGKILL')
        await ended
        // A server may still be about to commit what it was sent, and then the next copy finds it.
        const count = await use(to, (store) => store.count({}))
        assert.ok(count === 0 || count === BOOKS - DELETED.length, `${count} books`)
        const again = await copy(from, to)
        if (again.code === 0) assert.equal(count, 0)
        else assert.match(withoutStores(again.stderr), /^Cannot copy: --to: there are books already; .*\n$/)
        assert.equal(await booksIn(to), original)
      }
    })
  }
})
