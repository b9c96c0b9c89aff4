import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { startService, temporaryDirectory } from '../support/service.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'
import { readStored } from './stored.ts'
import { makeFail, straceMissing } from './strace.ts'

const CYCLES = 6

/** The calls that SQLite makes in a commit, and so many of them, at most, before the one that kills. */
const MOMENTS: [calls: string, range: number][] = [
  ['pwrite64', 100],
  ['pwrite64', 3000],
  ['fsync,fdatasync', 20],
]

// Where every test has to run, one that cannot is a failure.
const skip = process.env.FAULTS !== 'required' && straceMissing

describe('kill -9 in the middle of a commit', { skip }, () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  for (const [calls, range] of MOMENTS) {
    it(`at one of the next ${range} ${calls}: loses nothing acknowledged, and invents nothing`, async (t) => {
      const journal = new Journal()
      const path = join(directory.path, `${calls}-${range}`)
      mkdirSync(path)
      for (let cycle = 1; cycle <= CYCLES; cycle++) {
        const service = await startService(path)
        const load = new Load(service.url, journal)
        await load.until(() => load.acknowledged > 0)
        const fault = `${calls}:signal=KILL:when=${Math.ceil(range * Math.random())}`
        await using _failing = await makeFail(service.process.pid ?? 0, fault, directory.path)
        await load.ended
        journal.compare(readStored(join(path, 'books.db')))
        assert.deepEqual(journal.faults, [], `after kill ${cycle}`)
      }
      t.diagnostic(JSON.stringify(journal.figures))
      assert.ok(journal.figures.unknown > CYCLES, 'the service was not killed in the middle of writes')
    })
  }
})
