import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startService } from '../support/service.ts'
import { Journal } from './journal.ts'
import { loadForAMoment } from './load.ts'
import { diskMissing, freeze, LoopDisk } from './loop-disk.ts'
import { readStored } from './stored.ts'

/** More of them by hand: docs/durability.md. */
const CUTS = Number(process.env.POWER_CUTS ?? 3)

/** For `node --import`: SQLite no longer waits for the disk on each commit. */
const WITHOUT_WAITING = `
  import { DatabaseSync } from 'node:sqlite'
  const { exec } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (sql) {
    exec.call(this, sql.replace('synchronous = FULL', 'synchronous = NORMAL'))
  }`

describe('a power cut while books are written', { skip: diskMissing }, () => {
  const timeout = CUTS * 60_000

  it(`${CUTS} times: loses nothing that was acknowledged, and invents nothing`, { timeout }, async (t) => {
    const { faults, figures } = await cutPower(CUTS)
    t.diagnostic(JSON.stringify(figures))
    assert.deepEqual(faults, [])
  })

  it('loses writes if the service does not wait for the disk: otherwise the test above shows nothing', {
    timeout,
  }, async () => {
    const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(WITHOUT_WAITING)}`]
    const { figures } = await cutPower(Math.min(CUTS, 20), nodeOptions)
    assert.ok(figures.lost > 0)
  })
})

/** Whatever the service answers it has answered before the cut: it is frozen first, and killed without running again. */
async function cutPower(cuts: number, nodeOptions: string[] = []): Promise<Journal> {
  using disk = new LoopDisk(64)
  const journal = new Journal()
  // Otherwise a service that does not wait may lose the table too.
  await (await startService(disk.path)).stop()
  for (let cut = 0; cut < cuts; cut++) {
    const service = await startService(disk.path, {}, nodeOptions)
    const load = await loadForAMoment(service.url, journal)
    await freeze(service.process.pid ?? 0)
    await disk.copyAsPowerCut()
    await service.stop('SIGKILL')
    await load.ended
    disk.continueWithCopy()
    journal.compare(readStored(join(disk.path, 'books.db')))
  }
  return journal
}
