import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { startService, temporaryDirectory } from '../support/service.ts'
import { Journal } from './journal.ts'
import { loadForAMoment } from './load.ts'
import { readStored } from './stored.ts'

/** More of them by hand: docs/durability.md. */
const CYCLES = Number(process.env.CRASH_CYCLES ?? 4)

const directory = temporaryDirectory()
after(directory.remove)

it(`kill -9 at random moments, ${CYCLES} times on the same file, loses nothing that was acknowledged, and invents nothing`, {
  timeout: CYCLES * 30_000,
}, async (t) => {
  const journal = new Journal()
  for (let cycle = 1; cycle <= CYCLES; cycle++) {
    const service = await startService(directory.path)
    const load = await loadForAMoment(service.url, journal)
    await service.stop('SIGKILL')
    await load.ended
    journal.compare(readStored(join(directory.path, 'books.db')))
    assert.deepEqual(journal.faults, [], `after kill ${cycle}`)
  }
  t.diagnostic(JSON.stringify(journal.figures))
  assert.ok(journal.figures.unknown > CYCLES, 'the service was not killed in the middle of writes')
  assert.equal(journal.figures.refused, 0)
})
