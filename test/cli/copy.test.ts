import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Store } from '../../src/catalogue/store.ts'
import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import { openSession, SERVER_ENGINES, until } from '../faults/engine-servers.ts'
import { listAll } from '../store/pages.ts'
import { MAIN, runCommand, withoutStores } from '../support/command.ts'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { INHERITED, PATIENT, temporaryDirectory } from '../support/service.ts'

describe('copy', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const sqlite = (name: string) => `sqlite:${join(directory.path, name)}`
  const onServer = Object.fromEntries(SERVER_ENGINES.map((engine) => [engine, useDatabases(engine)]))

  async function use<Result>(url: string, work: (store: Store) => Promise<Result>): Promise<Result> {
    const store = await openStore(parseDbUrl(url), { timeout: 60_000 })
    return work(store).finally(() => store.close())
  }

  const copy = (from: string, to: string) =>
    runCommand(directory.path, {}, 'copy', '--from', from, '--to', to)

  /** A catalogue with gaps between its ids, and more books than a page has. */
  const fill = (url: string) =>
    use(url, async (store) => {
      const books = Array.from({ length: 1200 }, (_, n) => ({
        title: `文字 ${n}\n`,
        author: `Author ${n}`,
        year: n - 300,
      }))
      await store.import(Readable.from([books]))
      for (const id of [1, 7, 1200]) await store.delete(id)
    })

  const booksIn = (url: string) =>
    use(url, async (store) => (await listAll(store)).map((book) => ({ ...book })))

  it('keeps books and ids, from SQLite to each server that there is and back', async () => {
    const engines = SERVER_ENGINES.filter((engine) => !engineMissing(engine))
    const servers = await Promise.all(
      engines.map(async (engine) => (await onServer[engine]?.())?.createDatabase()),
    )
    const urls = [sqlite('source.db'), ...servers.map(String), sqlite('back.db')]
    await fill(sqlite('source.db'))
    const said = new Set<string>()
    for (const [i, to] of urls.slice(1).entries()) {
      const { stderr, stdout } = await copy(urls[i] ?? '', to)
      assert.match(stdout, /^copied 1197 books; both stores have the checksum [0-9a-f]{64}\n$/, stderr)
      said.add(stdout)
    }
    assert.equal(said.size, 1)
    assert.deepEqual(await booksIn(sqlite('back.db')), await booksIn(sqlite('source.db')))
  })

  describe('to PostgreSQL', { skip: engineMissing('postgres') }, () => {
    const postgres = () => onServer.postgres?.() ?? assert.fail()

    /** Runs a command, and does something while it waits to write to a store. @returns what it wrote as it failed. */
    async function runAndMeanwhile(
      to: string,
      args: readonly string[],
      act: (child: ChildProcess) => unknown,
    ) {
      await use(to, async () => {})
      await using session = await openSession(to)
      await session.run('BEGIN; LOCK TABLE books IN SHARE MODE')
      const env = { ...INHERITED, STORE_TIMEOUT: PATIENT, DB_URL: to }
      const child = spawn(process.execPath, [MAIN, ...args], { env })
      const ended = Promise.all([once(child, 'exit'), text(child.stderr)])
      const waiting = `SELECT 1 FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()`
      const isWaiting = async () => (await (await postgres()).query(waiting, to)).length > 0
      await until('it waits for the lock', isWaiting)
      await act(child)
      await session.run('COMMIT')
      const [[code], stderr] = await ended
      assert.equal(code, 1)
      return withoutStores(stderr)
    }

    /** As above, when the first books to copy have been read. */
    async function copyAndMeanwhile(from: string, to: string, act: (copying: ChildProcess) => unknown) {
      await fill(from)
      return runAndMeanwhile(to, ['copy', '--from', from, '--to', to], act)
    }

    it('notices a change of a book that was copied already', async () => {
      const from = sqlite('changing.db')
      const to = await (await postgres()).createDatabase()
      const stderr = await copyAndMeanwhile(from, to, () =>
        use(from, (store) => store.update(2, { title: 'changed' })),
      )
      assert.match(stderr, /^Cannot copy: the stores differ: --from has 1197 books, --to has 1197\. /)
    })

    it('says in one line that the server refuses a book', async () => {
      const from = sqlite('refused.db')
      await use(from, (store) => store.create({ title: 'T', author: 'A', year: 1 }))
      const on = await postgres()
      const to = await on.createDatabase()
      await use(to, async () => {})
      await on.query('ALTER TABLE books ADD CHECK (year > 1)', to)
      const { stderr } = await copy(from, to)
      assert.match(withoutStores(stderr), /^Cannot copy: --to: .* violates check constraint .*\n$/)
    })

    it('and an import store nothing when they are interrupted while the last books wait to be stored', async () => {
      const file = join(directory.path, 'books.csv')
      writeFileSync(file, 'title,author,year\nT,A,1\n')
      const from = sqlite('one.db')
      await use(from, (store) => store.create({ title: 'T', author: 'A', year: 1 }))
      for (const [args, message] of [
        [['import', file], 'Cannot import: interrupted; nothing was stored\n'],
        [['copy', '--from', from, '--to'], 'Cannot copy: interrupted; the books were not copied\n'],
      ] as const) {
        const to = await (await postgres()).createDatabase()
        const all = args[0] === 'copy' ? [...args, to] : args
        const stderr = await runAndMeanwhile(to, all, async (child) => {
          child.kill('SIGINT')
          await once(child, 'exit')
        })
        assert.equal(stderr, message)
        assert.deepEqual(await booksIn(to), [])
      }
    })

    it('says that it has copied everything when it is interrupted while the server commits', async () => {
      const to = await (await postgres()).createDatabase()
      await use(to, async () => {})
      const on = await postgres()
      await on.query(
        `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$`,
        to,
      )
      await on.query(
        `CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON books DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION wait()`,
        to,
      )
      await using holder = await openSession(to)
      await holder.run('BEGIN; SELECT pg_advisory_xact_lock(1)')
      const waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
      const stderr = await copyAndMeanwhile(sqlite('late.db'), to, (copying) => {
        void (async () => {
          await until('the commit waits', async () => (await on.query(waiting, to)).length > 0)
          copying.kill('SIGINT')
          // With the signal after the commit, the message is the same.
          await setTimeout(100)
          await holder.run('COMMIT')
        })()
      })
      assert.match(stderr, /interrupted; the books were copied, but the stores were not compared/)
      assert.equal((await booksIn(to)).length, 1197)
    })
  })
})
