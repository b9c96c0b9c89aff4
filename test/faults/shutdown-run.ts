import { temporaryDirectory } from '../support/service.ts'
import { readCycles } from './options.ts'
import { prepare, ShutdownReport, shutdownCycle } from './shutdown.ts'

const USAGE = `Stops the service with SIGTERM under load, again and again, and checks what became of every request.

npm run test:shutdown -- [--cycles N]      (100 by default)
`

/** A line of progress after so many cycles. */
const PROGRESS = 10

const cycles = readCycles(USAGE, 100)
const report = new ShutdownReport()
const directory = temporaryDirectory()
await prepare(directory.path)
for (let cycle = 1; cycle <= cycles && report.faults.length === 0; cycle++) {
  await shutdownCycle(directory.path, report)
  if (cycle % PROGRESS === 0 || cycle === cycles || report.faults.length > 0) {
    process.stdout.write(`${cycle} stops: ${JSON.stringify(report.figures)}\n`)
  }
}
directory.remove()
if (report.faults.length > 0) {
  process.stdout.write(`${report.faults.join('\n')}\n`)
  process.exitCode = 1
}
