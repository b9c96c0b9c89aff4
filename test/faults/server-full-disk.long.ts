import assert from 'node:assert/strict'
import { chmodSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { Caller, failuresOnce, SOON } from './caller.ts'
import { readRows, SERVER_ENGINES, serve, serverMissing, startServer } from './engine-servers.ts'
import { Journal } from './journal.ts'
import { surviveFault } from './load.ts'
import { diskMissing, LoopDisk } from './loop-disk.ts'

/** In MiB. */
const DISK = 192

/** A log that does not take all the room from the beginning. */
const SETTINGS = { postgres: {}, mysql: { 'innodb-log-file-size': '8M' } }

/** What the servers say. */
const FULL = /no space left|is full/i

/** The title of a book that is none of the journal's. */
const LATER = 'later'

describe('a database server whose disk is full', { skip: diskMissing }, () => {
  for (const engine of SERVER_ENGINES) {
    it(`${engine}: writes are refused, none is lost, and all works when there is room`, {
      skip: serverMissing(engine),
    }, async (t) => {
      using disk = new LoopDisk(DISK)
      // The server is not root.
      chmodSync(dirname(disk.path), 0o711)
      const server = await startServer(engine, { directory: disk.path, settings: SETTINGS[engine] })
      await using ending = new AsyncDisposableStack()
      ending.defer(() => server.remove())
      const url = await server.createDatabase()
      const service = await serve(t, url, { STORE_TIMEOUT: SOON })
      const caller = new Caller(service)
      const journal = new Journal()
      let filler = ''
      const fillUp = async () => {
        filler = disk.fillUp()
        const large = { title: LATER, author: 'x'.repeat(7000), year: 1 }
        while ((await caller.call('POST /book', large)).status === 201);
        return async () => {
          const { refused } = journal.figures
          const failures = await failuresOnce(service, refused + 1, /./)
          assert.equal(failures.length, refused + 1)
          assert.ok(failures.some(({ err }) => err?.reason === 'disk' && FULL.test(err.message)))
          // A server may also wait for room longer than the service waits for it.
          for (const { err } of failures)
            assert.match(err?.message ?? '', new RegExp(`${FULL.source}|did not answer within`, 'i'))
          rmSync(filler)
          await caller.recovers('POST /book', { title: LATER, author: '', year: 1 })
        }
      }
      const survived = surviveFault(
        service.url,
        journal,
        fillUp,
        ({ reads }) => journal.figures.refused > 100 && reads.answered > 0,
        {
          clients: 8,
          authorLength: 1000,
          leaveRefused: true,
          during: { changes: engine !== 'mysql' },
        },
      )
      await survived.catch(async (error) => {
        // MariaDB crashes where it cannot undo a write: see docs/engines.md. Then, too, nothing may be lost.
        const runs = await server.query('SELECT 1').then(
          () => true,
          () => false,
        )
        if (engine !== 'mysql' || runs) throw error
        rmSync(filler, { force: true })
        await server.stop('kill')
        await server.start()
      })
      await service.stop()
      const rows = (await readRows(server, url)).filter(({ title }) => title !== LATER)
      journal.compare({ rows, integrity: 'ok' })
      assert.deepEqual(journal.faults, [])
    })
  }
})
