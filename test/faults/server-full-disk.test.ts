import assert from 'node:assert/strict'
import { chmodSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ANSWER_TIME, Caller, failuresIn } from './caller.ts'
import { readRows, SERVER_ENGINES, serve, serverMissing, startServer } from './engine-servers.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'
import { diskMissing, LoopDisk } from './loop-disk.ts'

/** In MiB. */
const DISK = 192

/** How long each phase may take, in milliseconds. */
const PHASE = 20_000

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
      assert.ok(diskMissing === false, String(diskMissing))
      using disk = new LoopDisk(DISK)
      // The server is not root.
      chmodSync(dirname(disk.path), 0o711)
      const server = await startServer(engine, { directory: disk.path, settings: SETTINGS[engine] })
      await using _ = { [Symbol.asyncDispose]: () => server.remove() }
      const url = await server.createDatabase()
      const service = await serve(t, url)
      const journal = new Journal()
      const run = async (enough: () => boolean) => {
        const load = new Load(service.url, journal, { clients: 8, authorLength: 1000, leaveRefused: true })
        const deadline = Date.now() + PHASE
        while (!enough() && Date.now() < deadline) await setTimeout(20)
        await load.stop()
        assert.ok(enough(), JSON.stringify(journal.figures))
        return load
      }
      await run(() => journal.figures.acknowledged > 300)
      assert.equal(journal.figures.refused, 0)

      const filler = disk.fillUp()
      const { reads, slowest } = await run(() => journal.figures.refused > 100)
      const { acknowledged, refused } = journal.figures
      t.diagnostic(`while it is full: ${JSON.stringify({ ...journal.figures, reads, slowest })}`)
      assert.ok(slowest < ANSWER_TIME)
      assert.ok(reads.answered > 0 && reads.failed === 0, JSON.stringify(reads))
      const failures = failuresIn(service)
      assert.equal(failures.length, refused)
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
