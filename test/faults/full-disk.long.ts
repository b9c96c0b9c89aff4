import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { logIn } from '../support/client.ts'
import { startService } from '../support/service.ts'
import { Journal } from './journal.ts'
import { Load } from './load.ts'
import { diskMissing, LoopDisk } from './loop-disk.ts'
import { readStored } from './stored.ts'

/** How long each phase may take, in milliseconds: many times what it takes. */
const PHASE = 90_000

// Where every test has to run, one that cannot is a failure.
const skip = process.env.FAULTS !== 'required' && diskMissing

describe('a full disk', { skip }, () => {
  const disk = diskMissing === false ? new LoopDisk(32) : undefined
  after(() => disk?.[Symbol.dispose]())

  it('refuses writes and serves reads until there is room again', async (t) => {
    assert.ok(disk !== undefined, String(diskMissing))
    const service = await startService(disk.path)
    t.after(() => service.stop('SIGKILL'))
    const journal = new Journal()
    const run = async (enough: (load: Load) => boolean) => {
      const load = new Load(service.url, journal, { authorLength: 1000 })
      const deadline = Date.now() + PHASE
      while (!enough(load) && Date.now() < deadline) await setTimeout(20)
      await load.stop()
      assert.ok(enough(load), JSON.stringify({ ...journal.figures, reads: load.reads }))
      return load
    }

    await run(() => journal.figures.acknowledged > 500)
    assert.equal(journal.figures.refused, 0)

    const filler = disk.fillUp()
    const { reads } = await run(({ reads }) => journal.figures.refused > 500 && reads.answered > 10)
    t.diagnostic(`while it is full: ${JSON.stringify({ ...journal.figures, reads })}`)
    assert.equal(reads.failed, 0)
    assert.equal((await fetch(`${service.url}/readyz`)).status, 503)

    rmSync(filler)
    assert.equal((await fetch(`${service.url}/readyz`)).status, 200)
    const { refused: before, acknowledged } = journal.figures
    await run(() => journal.figures.acknowledged > acknowledged + 500)
    assert.equal(journal.figures.refused, before, 'a write is refused although there is room again')

    // Nothing was written that could have been refused.
    rmSync(disk.fillUp())
    assert.equal((await fetch(`${service.url}/readyz`)).status, 200)
    const again = disk.fillUp()
    const { status } = await fetch(`${service.url}/readyz`)
    const headers = { authorization: await logIn(service.url) }
    const write = await fetch(`${service.url}/book`, {
      method: 'POST',
      headers,
      body: '{"title":"T","author":"A","year":1}',
    })
    // Not the reverse: where the log has room left for one more book, the disk is full nevertheless.
    assert.ok(status === 503 || write.status === 201, 'the service is ready although it cannot write')
    rmSync(again)
    if (write.status === 201) {
      // The journal does not know this book.
      const { data } = (await write.json()) as { data: { id: number } }
      await fetch(`${service.url}/book/${data.id}`, { method: 'DELETE', headers })
    }

    await service.stop()
    assert.match(service.output(), /the store is not ready: database or disk is full/)
    journal.compare(readStored(join(disk.path, 'books.db')))
    t.diagnostic(JSON.stringify(journal.figures))
    assert.deepEqual(journal.faults, [])
    assert.equal(journal.figures.unknown, 0)
  })
})
