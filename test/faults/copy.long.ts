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
import { PATIENT, temporaryDirectory } from '../support/service.ts'

/** Rounds of each test; more of them by hand. */
const ROUNDS = Number(process.env.COPY_ROUNDS ?? 3)

const BOOKS = 20_000

describe('a copy that is killed', { skip: engineMissing('postgres') || engineMissing('mysql') }, () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const postgres = useDatabases('postgres')
  const mysql = useDatabases('mysql')
  let files = 0
  const sqlite = () => `sqlite:${join(directory.path, `${files++}.db`)}`

  async function use<Result>(url: string, work: (store: Store) => Promise<Result>): Promise<Result> {
    const store = await openStore(parseDbUrl(url), { timeout: 60_000 })
    return work(store).finally(() => store.close())
  }

  const copy = (from: string, to: string) =>
    runCommand(directory.path, { STORE_TIMEOUT: PATIENT }, 'copy', '--from', from, '--to', to)
  const booksIn = (url: string) => use(url, (store) => listAll(store).then((books) => JSON.stringify(books)))

  /** @returns the URL of a store with books, of which a few are missing. */
  async function filled(url: string): Promise<string> {
    await use(url, async (store) => {
      async function* books() {
        for (let i = 0; i < BOOKS / 1000; i++)
          yield Array.from({ length: 1000 }, (_, n) => ({ title: `Title ${i}`, author: `A "${n}"`, year: n }))
      }
      await store.import(books())
      for (const id of [1, 7, BOOKS]) await store.delete(id)
    })
    return url
  }

  async function copyAndKill(from: string, to: string, when: number): Promise<void> {
    const child = spawn(process.execPath, [MAIN, 'copy', '--from', from, '--to', to], { stdio: 'ignore' })
    const ended = once(child, 'exit')
    await setTimeout(when)
    child.kill('SIGKILL')
    await ended
  }

  /** Kills copies at random moments, each into a new store. */
  async function killRounds(from: string, createTarget: () => Promise<string>): Promise<void> {
    const begin = performance.now()
    assert.equal((await copy(from, await createTarget())).code, 0)
    const duration = performance.now() - begin
    const original = await booksIn(from)
    for (let round = 0; round < ROUNDS; round++) {
      const to = await createTarget()
      await copyAndKill(from, to, Math.random() * duration)
      // A server may still be about to commit what it was sent, and then the next copy finds it.
      const count = await use(to, (store) => store.count({}))
      assert.ok(count === 0 || count === BOOKS - 3, `${count} of ${BOOKS - 3} books`)
      const again = await copy(from, to)
      if (again.code !== 0) {
        assert.equal(
          withoutStores(again.stderr),
          'Cannot copy: --to: there are books already; it has to be empty\n',
        )
      } else assert.equal(count, 0)
      assert.equal(await booksIn(to), original)
    }
  }

  it(`leaves PostgreSQL empty or whole, ${ROUNDS} times, and the next copy works`, async () => {
    const from = await filled(sqlite())
    await killRounds(from, async () => (await postgres()).createDatabase())
  })

  it(`leaves MariaDB empty or whole, ${ROUNDS} times, and the next copy works`, async () => {
    const from = await filled(sqlite())
    await killRounds(from, async () => (await mysql()).createDatabase())
  })

  it(`leaves a file empty or whole, ${ROUNDS} times, and the next copy works`, async () => {
    const from = await filled(await (await postgres()).createDatabase())
    await killRounds(from, async () => sqlite())
  })
})
