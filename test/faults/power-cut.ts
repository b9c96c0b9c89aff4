import { join } from 'node:path'
import { loadForAMoment } from './crash.ts'
import type { Journal } from './journal.ts'
import { freeze, type LoopDisk } from './loop-disk.ts'
import { whileRunning } from './running.ts'
import { readStored } from './stored.ts'

/**
 * Starts the service on the disk, cuts the power while books are written, and compares what the disk holds after.
 * Whatever the service answers it has answered before the cut: it is frozen first, and killed without running again.
 */
export async function powerCutCycle(disk: LoopDisk, journal: Journal, nodeOptions: string[]): Promise<void> {
  await whileRunning(disk.path, nodeOptions, async (service) => {
    const load = await loadForAMoment(service, journal)
    await freeze(service.process.pid ?? 0)
    await disk.copyAsPowerCut()
    await service.stop('SIGKILL')
    await load.ended
  })
  disk.continueWithCopy()
  journal.compare(readStored(join(disk.path, 'books.db')))
}
