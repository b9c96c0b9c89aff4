import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Store } from '../../src/catalogue/store.ts'
import { storeContract } from '../store/contract.ts'
import { openNewDatabase, openPatiently } from '../store/new-database.ts'
import { listAll } from '../store/pages.ts'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { POOL_SIZE, type Pooler, pgbouncerMissing, startPgbouncer } from '../support/pgbouncer.ts'

const BOOK = { title: 'Dune', author: 'Frank Herbert', year: 1965 }

describe('PgBouncer with a connection per transaction', {
  skip: engineMissing('postgres') || pgbouncerMissing,
}, () => {
  const databases = useDatabases('postgres')
  let started: Promise<Pooler> | undefined
  after(async () => (await started)?.remove())
  const pooler = () => {
    started ??= databases().then(startPgbouncer)
    return started
  }

  /** Opens a new database several times at once. */
  async function openAtOnce(
    count: number,
    query: string,
    use: (stores: Store[], url: string) => Promise<void>,
  ) {
    const { createDatabase, dropDatabase } = await pooler()
    const url = await createDatabase()
    const opened = await Promise.allSettled(
      Array.from({ length: count }, () => openPatiently(`${url}${query}`)),
    )
    const stores = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    try {
      assert.deepEqual(
        opened.flatMap((each) => (each.status === 'rejected' ? [each.reason] : [])),
        [],
      )
      await use(stores, url)
    } finally {
      await Promise.all(stores.map((store) => store.close()))
      await dropDatabase(url)
    }
  }

  storeContract('PostgreSQL behind PgBouncer', async () => openNewDatabase(await pooler()))

  it('serves eight stores that are opened at once on an empty database', () =>
    openAtOnce(8, '', async (stores) => {
      const created = await Promise.all(
        stores.flatMap((store) => Array.from({ length: 25 }, () => store.create(BOOK))),
      )
      assert.equal(new Set(created.map(({ id }) => id)).size, 200)
      for (const store of stores) assert.ok(await store.find(created[0]?.id ?? 0))
    }))

  it('has more clients than connections, so that each has to share', () =>
    openAtOnce(2, '', async (stores, url) => {
      await Promise.all(stores.flatMap((store) => Array.from({ length: 50 }, () => listAll(store))))
      const rows = await (await pooler()).command('SHOW POOLS')
      const database = new URL(url).pathname.slice(1)
      const pool = rows.find((row) => row.database === database && row.user === database)
      assert.equal(Number(pool?.cl_active) + Number(pool?.cl_waiting), 20)
      assert.ok(Number(pool?.sv_active) + Number(pool?.sv_idle) + Number(pool?.sv_used) <= POOL_SIZE)
    }))

  it('serves a store with TLS, which ends there, so that SCRAM is without channel binding', async () => {
    await openAtOnce(1, '?sslmode=require', async ([store]) => {
      const book = await store?.create(BOOK)
      assert.equal(book?.title, BOOK.title)
    })
    await assert.rejects(
      openAtOnce(1, '?sslmode=require&channel_binding=require', async () => {}),
      /channel_binding=require/,
    )
  })
})
