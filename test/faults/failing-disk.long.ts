import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startService, temporaryDirectory } from '../support/service.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'
import { readStored } from './stored.ts'
import { makeFail, straceMissing } from './strace.ts'

interface Fault {
  readonly name: string
  /** The calls that SQLite makes to write to the disk and to wait for it, as strace is told to make them fail. */
  readonly fault: string
  /** Whether some writes succeed in spite of it. */
  readonly sometimes: boolean
}

const FAULTS: Fault[] = [
  { name: 'no fsync works', fault: 'fsync,fdatasync:error=EIO', sometimes: false },
  { name: 'every third fsync fails', fault: 'fsync,fdatasync:error=EIO:when=2+3', sometimes: true },
  { name: 'nothing can be written', fault: 'pwrite64:error=EIO', sometimes: false },
  { name: 'every 50th write to the file fails', fault: 'pwrite64:error=EIO:when=7+50', sometimes: true },
  { name: 'there is no room', fault: 'pwrite64:error=ENOSPC', sometimes: false },
]

/** How long each phase may take, in milliseconds: many times what it takes, even if a disk needs 100 ms for each fsync. */
const PHASE = 90_000

/** Writes that succeed before and after, and that are refused while the disk fails, at least. */
const [ENOUGH, REFUSED] = [300, 500]

// Where every test has to run, one that cannot is a failure.
const skip = process.env.FAULTS !== 'required' && straceMissing

describe('a disk that fails for a while', { skip }, () => {
  for (const { name, fault, sometimes } of FAULTS) {
    it(`${name}: writes are refused, none is lost, and all works again afterwards`, async (t) => {
      const directory = temporaryDirectory()
      t.after(directory.remove)
      const service = await startService(directory.path)
      t.after(() => service.stop('SIGKILL'))
      const journal = new Journal()
      const run = async (enough: () => boolean) => {
        const load = new Load(service.url, journal)
        const deadline = Date.now() + PHASE
        while (!enough() && Date.now() < deadline) await setTimeout(20)
        await load.stop()
        assert.ok(enough(), `${JSON.stringify(journal.figures)}\n${service.output()}`)
        return load
      }
      await run(() => journal.figures.acknowledged > ENOUGH)
      const before = journal.figures
      assert.equal(before.refused, 0)

      await using failing = await makeFail(service.process.pid ?? 0, fault, directory.path)
      const { reads } = await run(
        () =>
          journal.figures.refused > REFUSED &&
          (!sometimes || journal.figures.acknowledged > before.acknowledged + 100),
      )
      const failed = await failing.end()
      const during = journal.figures
      t.diagnostic(`failed: ${JSON.stringify(failed)}; ${JSON.stringify({ ...during, reads })}`)
      assert.ok(
        Object.values(failed).some((count) => count > 3),
        'nothing was made to fail',
      )
      if (!sometimes) assert.equal(during.acknowledged, before.acknowledged, 'false success')
      assert.equal(reads.failed, 0)

      await run(() => journal.figures.acknowledged > during.acknowledged + ENOUGH)
      assert.equal(journal.figures.refused, during.refused, 'writes are still refused')
      // Once as it was left in the log, and once after the next service has brought that into the file.
      await service.stop('SIGKILL')
      journal.compare(readStored(join(directory.path, 'books.db')))
      await (await startService(directory.path)).stop()
      journal.compare(readStored(join(directory.path, 'books.db')))
      assert.deepEqual(journal.faults, [])
      assert.equal(journal.figures.unknown, 0)
    })
  }
})
