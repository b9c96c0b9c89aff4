import assert from 'node:assert/strict'
import { rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { logIn, untilIndexed } from '../support/client.ts'
import { runCommand } from '../support/command.ts'
import { startService, temporaryDirectory } from '../support/service.ts'
import { until } from '../support/until.ts'
import { Caller } from './caller.ts'
import { Journal } from './journal.ts'
import { type Load, surviveFault } from './load.ts'
import { diskMissing, LoopDisk } from './loop-disk.ts'
import { readStored } from './stored.ts'

const ROWS = 60_000
const FILE = `title,author,year\n${Array.from({ length: ROWS }, (_, i) => `The title of the book ${i},"Author, ${i % 99}",${i}\n`).join('')}`

/** Room that is left for an import, in bytes: it runs into the end of the disk on its way. */
const ROOM = 1024 * 1024

const NO_ROOM = 'Cannot write the settings: .env cannot be written: ENOSPC: no space left on device, write\n'

/** The title of a book that is none of the journal's. */
const LATER = 'later'

describe('a full disk', { skip: diskMissing }, () => {
  it('refuses writes and serves reads until there is room again', async (t) => {
    using disk = new LoopDisk(32)
    const service = await startService(disk.path)
    t.after(() => service.stop('SIGKILL'))
    const caller = new Caller(service)
    const isReady = async () => (await caller.call('GET /readyz')).status === 200
    const journal = new Journal()
    const fillUp = async () => {
      const filler = disk.fillUp()
      return async () => {
        assert.ok(!(await isReady()))
        rmSync(filler)
        assert.ok(await isReady())
      }
    }
    const isEnough = ({ reads }: Load) => journal.figures.refused > 500 && reads.answered > 10
    await surviveFault(service.url, journal, fillUp, isEnough, { authorLength: 1000 })

    // Little room is enough, once neither the index nor the write-ahead log needs more.
    await untilIndexed(service.url, await logIn(service.url))
    await until('the log is in the database', () => {
      using database = new DatabaseSync(join(disk.path, 'books.db'))
      const { busy, log, checkpointed } = database.prepare('PRAGMA wal_checkpoint').get() ?? {}
      return busy === 0 && log === checkpointed
    })
    const filler = disk.fillUp()
    truncateSync(filler, statSync(filler).size - ROOM / 2)
    assert.ok(await isReady())

    // Nothing was written that could have been refused.
    disk.fillUp()
    const isReadyAgain = await isReady()
    const write = await caller.call('POST /book', { title: LATER, author: 'A', year: 1 })
    // Not the reverse: where the log has room left for one more book, the disk is full nevertheless.
    assert.ok(!isReadyAgain || write.status === 201, 'the service is ready although it cannot write')

    await service.stop()
    assert.match(service.output(), /the store is not ready: database or disk is full/)
    const { rows, integrity } = readStored(join(disk.path, 'books.db'))
    journal.compare({ rows: rows.filter(({ title }) => title !== LATER), integrity })
    assert.deepEqual(journal.faults, [])
    assert.equal(journal.figures.unknown, 0)
  })

  it('does not keep a service from starting, or a command from reading; one that writes says so and leaves no half of a file', async (t) => {
    using disk = new LoopDisk(32)
    const killed = await startService(disk.path)
    await new Caller(killed).create()
    await killed.stop('SIGKILL')
    const filler = disk.fillUp()
    const run = (...command: string[]) => runCommand(disk.path, { DB_URL: 'sqlite:books.db' }, ...command)
    for (const command of [['check'], ['export', '-']]) {
      const { code, stderr } = await run(...command)
      assert.equal(code, 0, stderr)
      assert.match(stderr, /^DB_URL: nothing can be written now: database or disk is full$/m)
    }
    const target = join(disk.path, 'backup.db')
    const { stderr } = await run('backup', target)
    assert.match(stderr, new RegExp(`^Cannot back up: ${target}: database or disk is full$`, 'm'))
    const init = await run('init')
    assert.deepEqual([init.code, init.stderr.replaceAll(/\S+\//g, '')], [1, NO_ROOM])
    const service = await startService(disk.path)
    t.after(() => service.stop('SIGKILL'))
    const caller = new Caller(service)
    const book = { title: LATER, author: 'A', year: 1 }
    await caller.ok('GET /books')
    await caller.unavailable('POST /book', book)
    await caller.unavailable('GET /readyz')
    rmSync(filler)
    await caller.ok('POST /book', book)
    await caller.ok('GET /readyz')
    assert.equal((await run('init')).code, 0)
  })
})

describe('an import onto a full disk', { skip: diskMissing }, () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  for (const [what, settingsOn, says] of [
    [
      'of the catalogue',
      (path: string) => ({ DB_URL: `sqlite:${path}/books.db` }),
      'database or disk is full',
    ],
    [
      'of the temporary files',
      (path: string) => ({ SQLITE_TMPDIR: path }),
      'there is no room for temporary files; free some, or name another directory in SQLITE_TMPDIR',
    ],
  ] as const) {
    it(`${what} stores nothing and says so, and works when there is room again`, async (t) => {
      using disk = new LoopDisk(64)
      const service = await startService(directory.path, settingsOn(disk.path))
      t.after(() => service.stop('SIGKILL'))
      const caller = new Caller(service)
      const headers = { authorization: await logIn(service.url), 'content-type': 'text/csv' }
      const send = () =>
        fetch(`${service.url}/books/import?skip_existing=false`, { method: 'POST', headers, body: FILE })
      const stored = async () =>
        (await caller.call('GET /books?limit=1&count=true')).headers.get('x-total-count')
      await caller.create()

      const filler = disk.fillUp()
      truncateSync(filler, statSync(filler).size - ROOM)
      const refused = await send()
      assert.equal(await refused.text(), '{"status":503,"message":"Service unavailable","data":null}')
      assert.equal(refused.headers.get('x-stored'), 'no')
      assert.equal(await stored(), '1')

      rmSync(filler)
      assert.equal((await send()).status, 200)
      assert.equal(await stored(), String(1 + ROWS))
      assert.ok(service.output().includes(says), service.output())
    })
  }
})
