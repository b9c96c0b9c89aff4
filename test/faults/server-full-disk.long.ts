import assert from 'node:assert/strict'
import { chmodSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { it } from 'node:test'
import { Caller, SOON } from './caller.ts'
import { readRows, SERVER_ENGINES, serve, serverMissing, startServer, until } from './engine-servers.ts'
import { Journal } from './journal.ts'
import { surviveFault } from './load.ts'
import { diskMissing, LoopDisk } from './loop-disk.ts'

/** In MiB. */
const DISK = 192

/** A log that does not take all the room from the beginning. */
const SETTINGS = { postgres: {}, mysql: { 'innodb-log-file-size': '8M' } }

/** What the log has of what the servers say. */
const DISK_FULL = /"reason":"disk".*(?:no space left|is full)/i

/** The title of a book that is none of the journal's. */
const LATER = 'later'

for (const engine of SERVER_ENGINES)
  it(`while the disk of ${engine} is full writes are refused, none is lost, and all works when there is room`, {
    skip: diskMissing || serverMissing(engine),
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
        await until('the log says why', () => DISK_FULL.test(service.output()))
        rmSync(filler)
        await caller.recovers('POST /book', { title: LATER, author: '', year: 1 })
      }
    }
    const options = { clients: 8, authorLength: 1000, leaveRefused: true }
    await surviveFault(
      service.url,
      journal,
      fillUp,
      ({ reads }) => journal.figures.refused > 100 && reads.answered > 0,
      options,
      { ...options, changes: engine !== 'mysql' },
    ).catch(async (error) => {
      // MariaDB crashes where it cannot undo a write: see docs/engines.md. Then, too, nothing may be lost.
      const runs = await server.query('SELECT 1').catch(() => undefined)
      if (engine !== 'mysql' || runs !== undefined) throw error
      rmSync(filler, { force: true })
      await server.stop('kill')
      await server.start()
    })
    await service.stop()
    const rows = (await readRows(server, url)).filter(({ title }) => title !== LATER)
    journal.compare({ rows, integrity: 'ok' })
    assert.deepEqual(journal.faults, [])
  })
