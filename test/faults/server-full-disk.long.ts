import assert from 'node:assert/strict'
import { chmodSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { it } from 'node:test'
import { Caller, failuresOnce, SOON } from './caller.ts'
import { readRows, serve, serverMissing, startServer } from './engine-servers.ts'
import { Journal } from './journal.ts'
import { surviveFault } from './load.ts'
import { diskMissing, LoopDisk } from './loop-disk.ts'

/** In MiB. */
const DISK = 192

/** What the server says. */
const FULL = /no space left/i

/** The title of a book that is none of the journal's. */
const LATER = 'later'

// MariaDB crashes where it cannot undo a write: docs/engines.md.
it('PostgreSQL whose disk is full: writes are refused, none is lost, and all works when there is room', {
  skip: diskMissing || serverMissing('postgres'),
}, async (t) => {
  using disk = new LoopDisk(DISK)
  // The server is not root.
  chmodSync(dirname(disk.path), 0o711)
  const server = await startServer('postgres', { directory: disk.path })
  await using ending = new AsyncDisposableStack()
  ending.defer(() => server.remove())
  const url = await server.createDatabase()
  const service = await serve(t, url, { STORE_TIMEOUT: SOON })
  const caller = new Caller(service)
  const journal = new Journal()
  const fillUp = async () => {
    const filler = disk.fillUp()
    const large = { title: LATER, author: 'x'.repeat(7000), year: 1 }
    while ((await caller.call('POST /book', large)).status === 201);
    return async () => {
      const failures = await failuresOnce(service, journal.figures.refused + 1, /./)
      assert.ok(failures.some(({ err }) => err?.reason === 'disk' && FULL.test(err.message)))
      rmSync(filler)
      await caller.recovers('POST /book', { title: LATER, author: '', year: 1 })
    }
  }
  await surviveFault(
    service.url,
    journal,
    fillUp,
    ({ reads }) => journal.figures.refused > 100 && reads.answered > 0,
    { clients: 8, authorLength: 1000, leaveRefused: true },
  )
  await service.stop()
  const rows = (await readRows(server, url)).filter(({ title }) => title !== LATER)
  journal.compare({ rows, integrity: 'ok' })
  assert.deepEqual(journal.faults, [])
})
