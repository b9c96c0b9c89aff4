import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ensureTable } from '../../../src/store/client-server/ensure-schema.ts'

const LOST = new Error('another instance makes the table')

/** Makes the table of books, while each attempt loses the race and takes longer than all may. */
async function loseRaces(t: TestContext, columns: (attempts: number) => boolean): Promise<number> {
  t.mock.timers.enable({ apis: ['Date'], now: 0 })
  let attempts = 0
  const editor = {
    columns: async () =>
      columns(attempts) ? [{ name: 'id', type: 'bigint', generated: true, required: true }] : [],
    objects: async () => [],
    execute: async () => {
      attempts++
      t.mock.timers.setTime(Date.now() + 10_000)
      throw LOST
    },
    isLostRace: (error: unknown) => error === LOST,
    isNotReady: () => false,
    isDenied: () => false,
    isForAdministrator: () => false,
    administration: async () => assert.fail(),
  }
  await ensureTable(undefined, editor, [
    { name: 'id', sql: 'bigint', accepted: ['bigint'], isNullable: false },
  ])
  return attempts
}

describe('the table of books, while other instances make it', () => {
  it('is looked for again by a process that stood still meanwhile', async (t) => {
    assert.equal(await loseRaces(t, (attempts) => attempts > 0), 1)
  })

  it('is given up in the end if it is never there', async (t) => {
    await assert.rejects(
      loseRaces(t, () => false),
      LOST,
    )
  })
})
