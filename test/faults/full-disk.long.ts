import assert from 'node:assert/strict'
import { rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { logIn } from '../support/client.ts'
import { runCommand } from '../support/command.ts'
import { startService, temporaryDirectory } from '../support/service.ts'
import { Caller } from './caller.ts'
import { Journal } from './journal.ts'
import { type Load, surviveFault } from './load.ts'
import { diskMissing, LoopDisk } from './loop-disk.ts'
import { readStored } from './stored.ts'

const ROWS = 60_000
const FILE = `title,author,year\n${Array.from({ length: ROWS }, (_, i) => `The title of the book ${i},"Author, ${i % 99}",${i}\n`).join('')}`

/** Room that is left for an import, in bytes: it runs into the end of the disk on its way. */
const ROOM = 1024 * 1024

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

    // Nothing was written that could have been refused.
    rmSync(disk.fillUp())
    assert.ok(await isReady())
    const again = disk.fillUp()
    const isReadyAgain = await isReady()
    const write = await caller.call('POST /book', { title: 'T', author: 'A', year: 1 })
    // Not the reverse: where the log has room left for one more book, the disk is full nevertheless.
    assert.ok(!isReadyAgain || write.status === 201, 'the service is ready although it cannot write')
    rmSync(again)
    // The journal does not know this book.
    if (write.status === 201) await caller.ok(`DELETE /book/${JSON.parse(write.body).data.id}`)

    await service.stop()
    assert.match(service.output(), /the store is not ready: database or disk is full/)
    journal.compare(readStored(join(disk.path, 'books.db')))
    assert.deepEqual(journal.faults, [])
    assert.equal(journal.figures.unknown, 0)
  })
})

describe('an import onto a full disk', { skip: diskMissing }, () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const csv = join(directory.path, 'file.csv')
  writeFileSync(csv, FILE)

  for (const [what, settingsOn, message] of [
    [
      'of the catalogue',
      (path: string) => ({ DB_URL: `sqlite:${path}/books.db` }),
      'DB_URL: database or disk is full',
    ],
    [
      'of the temporary files',
      (path: string) => ({ DB_URL: `sqlite:${path.replaceAll('/', '_')}.db`, SQLITE_TMPDIR: path }),
      'there is no room for temporary files; free some, or name another directory in SQLITE_TMPDIR',
    ],
  ] as const) {
    it(`${what} stores nothing and says so, and works when there is room again`, async (t) => {
      using disk = new LoopDisk(64)
      const settings = settingsOn(disk.path)
      const service = await startService(directory.path, settings)
      t.after(() => service.stop('SIGKILL'))
      const caller = new Caller(service)
      const headers = { authorization: await logIn(service.url), 'content-type': 'text/csv' }
      const send = () =>
        fetch(`${service.url}/books/import?skip_existing=false`, { method: 'POST', headers, body: FILE })
      const runImport = () => runCommand(directory.path, settings, 'import', csv, '--no-skip-existing')
      const stored = async () =>
        (await caller.call('GET /books?limit=1&count=true')).headers.get('x-total-count')
      const id = await caller.create()

      const filler = disk.fillUp()
      truncateSync(filler, statSync(filler).size - ROOM)
      const refused = await send()
      assert.equal(await refused.text(), '{"status":503,"message":"Service unavailable","data":null}')
      const { code, stdout, stderr } = await runImport()
      assert.deepEqual([code, stdout], [1, ''])
      assert.equal(stderr.trimEnd().split('\n').at(-1), `Cannot import: ${message}`)
      assert.equal(await stored(), '1')
      await caller.ok(`GET /book/${id}`)

      rmSync(filler)
      assert.equal((await send()).status, 200)
      assert.equal((await runImport()).stdout, `added ${ROWS} books, skipped 0\n`)
      assert.equal(await stored(), String(1 + 2 * ROWS))
    })
  }
})
