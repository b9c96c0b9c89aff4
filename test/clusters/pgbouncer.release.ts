import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Store } from '../../src/catalogue/store.ts'
import { booksContract } from '../store/contract.ts'
import { openNewDatabase, openPatiently } from '../store/new-database.ts'
import type { DatabaseServer } from '../support/database-server.ts'
import { engineMissing } from '../support/engines.ts'
import { type Pooler, pgbouncerMissing, startPgbouncer } from '../support/pgbouncer.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { memoryDirectory } from '../support/server-directory.ts'
import { isFull, repeat, surviveChaos } from './chaos.ts'

const BOOK = { title: 'Dune', author: 'Frank Herbert', year: 1965 }

describe('PgBouncer with a connection per transaction', {
  skip: engineMissing('postgres') || pgbouncerMissing,
}, () => {
  let server: DatabaseServer
  let pooler: Pooler
  before(async () => {
    server = await startPostgres({
      directory: memoryDirectory(),
      settings: { fsync: 'off', max_connections: '300' },
    })
    pooler = await startPgbouncer(server)
  })
  after(async () => {
    await pooler?.remove()
    await server?.remove()
  })

  /** Opens a new database several times at once. */
  async function openAtOnce(count: number, query: string, use: (stores: Store[]) => Promise<void>) {
    const url = await pooler.createDatabase()
    await using opened = new AsyncDisposableStack()
    opened.defer(() => pooler.dropDatabase(url))
    const opening = Array.from({ length: count }, async () => {
      const store = await openPatiently(`${url}${query}`)
      opened.defer(() => store.close())
      return store
    })
    await Promise.allSettled(opening)
    await use(await Promise.all(opening))
  }

  describe('books', () => booksContract(async () => openNewDatabase(pooler)))

  it('serves eight stores that are opened at once on an empty database', () =>
    openAtOnce(8, '', async (stores) => {
      const created = await Promise.all(
        stores.flatMap((store) => Array.from({ length: 25 }, () => store.create(BOOK))),
      )
      assert.equal(new Set(created.map(({ id }) => id)).size, 200)
      for (const store of stores) assert.ok(await store.find(created[0]?.id ?? 0))
    }))

  it('serves a store with TLS, which ends there, so that SCRAM is without channel binding', async () => {
    await openAtOnce(1, '?sslmode=require', async ([store]) => {
      assert.equal((await store?.create(BOOK))?.title, BOOK.title)
    })
    await assert.rejects(
      openAtOnce(1, '?sslmode=require&channel_binding=require', async () => {}),
      /channel_binding=require/,
    )
  })

  const times = isFull ? 10 : 2
  const planned = async () => {
    await pooler.command('PAUSE')
    await server.stop('clean')
    await server.start()
    await pooler.command('RESUME')
  }
  for (const [name, run, mayBeRefused] of [
    ['planned restart of PostgreSQL, between PAUSE and RESUME: no request is refused', planned, 0],
    // Writes on a connection that it cuts may have been done, so they are refused.
    ['restart of PgBouncer', () => pooler.restart(), 10],
  ] as const)
    it(name, { timeout: times * 60_000 }, (t) =>
      surviveChaos(t, { databases: pooler, events: repeat(times, () => ({ name, run })), mayBeRefused }),
    )
})
