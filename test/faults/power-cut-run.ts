import { join } from 'node:path'
import { Journal } from './journal.ts'
import { diskMissing, LoopDisk } from './loop-disk.ts'
import { readCycles } from './options.ts'
import { powerCutCycle } from './power-cut.ts'

const USAGE = `Cuts the power of the service's disk while books are written, again and again, and compares what it stored.
Then the same without waiting for the disk, which must be seen to lose writes. Needs Linux and root.

npm run test:power-cut -- [--cycles N]      (50 by default)
`

/** Size of the disk in MiB. */
const DISK = 64

/** A new disk after so many cuts, so that some come soon after the file was made. */
const NEW_DISK = 5

/** A line of progress after so many cuts. */
const PROGRESS = 10

/** As many cuts as tell that writes are lost without waiting for the disk. */
const MAX_CONTROL = 20

const WITHOUT_WAITING = ['--import', join(import.meta.dirname, 'synchronous-normal.ts')]

const cycles = readCycles(USAGE, 50)
if (diskMissing !== false) {
  process.stderr.write(`Cannot run: ${diskMissing}\n`)
  process.exit(1)
}

const product = await cutPower('synchronous=FULL', cycles, [])
const control = await cutPower('synchronous=NORMAL', Math.min(cycles, MAX_CONTROL), WITHOUT_WAITING)
if (product.faults.length > 0) {
  process.stdout.write(`${product.faults.join('\n')}\n`)
  process.exitCode = 1
}
if (control.figures.lost === 0) {
  process.stdout.write('Without waiting for the disk nothing was lost: the test cannot tell the two apart.\n')
  process.exitCode = 1
}

async function cutPower(name: string, count: number, nodeOptions: string[]): Promise<Journal> {
  const journal = new Journal()
  for (let done = 0; done < count; ) {
    using disk = new LoopDisk(DISK)
    journal.startOver()
    const end = Math.min(done + NEW_DISK, count)
    while (done < end) {
      await powerCutCycle(disk, journal, nodeOptions)
      done++
      if (done % PROGRESS !== 0 && done !== count) continue
      process.stdout.write(`${name}, ${done} power cuts: ${JSON.stringify(journal.figures)}\n`)
    }
  }
  return journal
}
