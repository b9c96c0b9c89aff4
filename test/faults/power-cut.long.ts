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

/** A new disk of so many MiB after so many cuts, so that some come soon after the file was made. */
const [DISK, NEW_DISK] = [64, 5]

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
    for (const { faults, figures } of await cutPower(CUTS, [])) {
      t.diagnostic(JSON.stringify(figures))
      assert.deepEqual(faults, [])
    }
  })

  it('loses writes if the service does not wait for the disk: otherwise the test above shows nothing', {
    timeout,
  }, async () => {
    const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(WITHOUT_WAITING)}`]
    const journals = await cutPower(Math.min(CUTS, 20), nodeOptions)
    assert.ok(journals.some(({ figures }) => figures.lost > 0))
  })
})

/** @returns the journal of each disk. */
async function cutPower(cuts: number, nodeOptions: string[]): Promise<Journal[]> {
  const journals: Journal[] = []
  for (let left = cuts; left > 0; left -= NEW_DISK) {
    using disk = new LoopDisk(DISK)
    const journal = new Journal()
    journals.push(journal)
    for (let cut = 0; cut < Math.min(left, NEW_DISK); cut++) await cutPowerOnce(disk, journal, nodeOptions)
  }
  return journals
}

/** Whatever the service answers it has answered before the cut: it is frozen first, and killed without running again. */
async function cutPowerOnce(disk: LoopDisk, journal: Journal, nodeOptions: string[]): Promise<void> {
  const service = await startService(disk.path, {}, nodeOptions)
  const load = await loadForAMoment(service.url, journal)
  await freeze(service.process.pid ?? 0)
  await disk.copyAsPowerCut()
  await service.stop('SIGKILL')
  await load.ended
  disk.continueWithCopy()
  journal.compare(readStored(join(disk.path, 'books.db')))
}
