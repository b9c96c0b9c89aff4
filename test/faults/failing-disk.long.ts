import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startService, temporaryDirectory } from '../support/service.ts'
import { Journal } from './journal.ts'
import { surviveFault } from './load.ts'
import { readStored } from './stored.ts'
import { makeFail, straceMissing } from './strace.ts'

/** The calls that SQLite makes to write to the disk and to wait for it; and whether some writes succeed in spite of it. */
const FAULTS = [
  ['no fsync works', 'fsync,fdatasync:error=EIO', false],
  ['every third fsync fails', 'fsync,fdatasync:error=EIO:when=2+3', true],
  ['nothing can be written', 'pwrite64:error=EIO', false],
  ['every 50th write to the file fails', 'pwrite64:error=EIO:when=7+50', true],
] as const

describe('a disk that fails for a while', { skip: straceMissing }, () => {
  for (const [name, fault, sometimes] of FAULTS) {
    it(`${name}: writes are refused, none is lost, and all works again afterwards`, async (t) => {
      const directory = temporaryDirectory()
      t.after(directory.remove)
      const path = join(directory.path, 'books.db')
      const service = await startService(directory.path)
      t.after(() => service.stop('SIGKILL'))
      const journal = new Journal()
      let failed = 0
      const begin = async () => {
        const failing = await makeFail(service.process.pid ?? 0, fault, directory.path)
        t.after(() => failing[Symbol.asyncDispose]())
        return async () => {
          failed = await failing.end()
        }
      }
      const { acknowledged } = await surviveFault(
        service.url,
        journal,
        begin,
        ({ acknowledged }) => journal.figures.refused > 500 && (!sometimes || acknowledged > 100),
      )
      assert.ok(failed > 3, 'nothing was made to fail')
      if (!sometimes) assert.equal(acknowledged, 0, 'false success')
      // Once as it was left in the log, and once after the next service has brought that into the file.
      await service.stop('SIGKILL')
      journal.compare(readStored(path))
      await (await startService(directory.path)).stop()
      journal.compare(readStored(path))
      assert.deepEqual(journal.faults, [])
      assert.equal(journal.figures.unknown, 0)
    })
  }
})
