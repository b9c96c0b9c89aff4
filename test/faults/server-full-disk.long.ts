import assert from 'node:assert/strict'
import { chmodSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { ServerEngine } from '../support/database-server.ts'
import type { Service } from '../support/service.ts'
import { Caller, failuresOnce, SOON } from './caller.ts'
import { readRows, SERVER_ENGINES, serve, serverMissing, startServer } from './engine-servers.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'
import { diskMissing, LoopDisk } from './loop-disk.ts'

/** In MiB. */
const DISK = 192

/** How long each phase may take, in milliseconds: many times what it takes. */
const PHASE = 90_000

/** A log that does not take all the room from the beginning. */
const SETTINGS = { postgres: {}, mysql: { 'innodb-log-file-size': '8M' } }

/** What the servers say. */
const FULL = /no space left|is full/i

/** The title of a book that is none of the journal's. */
const LATER = 'later'

// Where every test has to run, one that cannot is a failure.
const skipDisk = process.env.FAULTS !== 'required' && diskMissing

describe('a database server whose disk is full', { skip: skipDisk }, () => {
  for (const engine of SERVER_ENGINES) {
    it(`${engine}: writes are refused, none is lost, and all works when there is room`, {
      skip: serverMissing(engine),
    }, async (t) => {
      await using system = await start(t, engine)
      const { disk, server, url, service } = system
      const journal = new Journal()
      const run = async (enough: (load: Load) => boolean, changes = true) => {
        const options = { clients: 8, authorLength: 1000, leaveRefused: true, changes }
        const load = new Load(service.url, journal, options)
        const deadline = Date.now() + PHASE
        while (!enough(load) && Date.now() < deadline) await setTimeout(20)
        await load.stop()
        assert.ok(enough(load), JSON.stringify({ ...journal.figures, reads: load.reads }))
        return load
      }
      await run(() => journal.figures.acknowledged > 300)
      assert.equal(journal.figures.refused, 0)

      const filler = disk.fillUp()
      await createWhileThereIsRoom(service)
      // MariaDB may not be able to undo changes when the disk is full: see docs/engines.md.
      const changes = engine !== 'mysql'
      const { reads } = await run(({ reads }) => journal.figures.refused > 100 && reads.answered > 0, changes)
      const { acknowledged, refused } = journal.figures
      t.diagnostic(`while it is full: ${JSON.stringify({ ...journal.figures, reads })}`)
      assert.equal(reads.failed, 0)
      const failures = await failuresOnce(service, refused + 1, /./)
      assert.equal(failures.length, refused + 1)
      assert.ok(failures.some(({ err }) => err?.reason === 'disk'))
      const reasons = failures.map(({ err }) => err?.message ?? '')
      assert.ok(reasons.some((reason) => FULL.test(reason)))
      // A server may also wait for room longer than the service waits for it.
      for (const reason of reasons)
        assert.match(reason, new RegExp(`${FULL.source}|did not answer within`, 'i'))

      rmSync(filler)
      await new Caller(service).recovers('POST /book', { title: LATER, author: '', year: 1 })
      await run(() => journal.figures.acknowledged > acknowledged + 300)
      assert.equal(journal.figures.refused, refused, 'a write is refused although there is room')
      await service.stop()
      journal.compare({
        rows: (await readRows(server, url)).filter(({ title }) => title !== LATER),
        integrity: 'ok',
      })
      assert.deepEqual(journal.faults, [])
    })
  }
})

async function createWhileThereIsRoom(service: Service): Promise<void> {
  const caller = new Caller(service)
  const book = { title: LATER, author: 'x'.repeat(7000), year: 1 }
  while ((await caller.call('POST /book', book)).status === 201);
}

/** A service on a server whose files are on a small disk of its own. */
async function start(t: TestContext, engine: ServerEngine) {
  assert.ok(diskMissing === false, String(diskMissing))
  const disk = new LoopDisk(DISK)
  // The server is not root.
  chmodSync(dirname(disk.path), 0o711)
  const server = await startServer(engine, { directory: disk.path, settings: SETTINGS[engine] })
  const url = await server.createDatabase()
  const service = await serve(t, url, { STORE_TIMEOUT: SOON })
  const dispose = async () => {
    await server.remove()
    disk[Symbol.dispose]()
  }
  return { disk, server, url, service, [Symbol.asyncDispose]: dispose }
}
