import { temporaryDirectory } from '../support/service.ts'
import { crashCycle } from './crash.ts'
import { Journal } from './journal.ts'
import { readCycles } from './options.ts'

const USAGE = `Kills the service while books are written, again and again, and compares what it stored.

npm run test:crash -- [--cycles N]      (300 by default)
`

/** A line of progress after so many cycles. */
const PROGRESS = 10

const cycles = readCycles(USAGE, 300)
const directory = temporaryDirectory()
const journal = new Journal()
for (let cycle = 1; cycle <= cycles && journal.faults.length === 0; cycle++) {
  await crashCycle(directory.path, journal)
  if (cycle % PROGRESS === 0 || cycle === cycles || journal.faults.length > 0) {
    process.stdout.write(`${cycle} kills: ${JSON.stringify(journal.figures)}\n`)
  }
}
if (journal.faults.length === 0) directory.remove()
else {
  process.stdout.write(`${journal.faults.join('\n')}\nThe database is kept in ${directory.path}.\n`)
  process.exitCode = 1
}
