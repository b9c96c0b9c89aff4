import { after, before, describe, it } from 'node:test'
import type { DatabaseServer } from '../support/database-server.ts'
import { engineMissing } from '../support/engines.ts'
import { type Pooler, pgbouncerMissing, startPgbouncer } from '../support/pgbouncer.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { memoryDirectory } from '../support/server-directory.ts'
import { printTable } from '../support/table.ts'
import { type ChaosEvent, direct, isFull, type Row, surviveChaos, table } from './chaos.ts'

/** How often each happens. */
const TIMES = isFull ? 10 : 2

const options = { timeout: isFull ? 600_000 : 120_000 }

describe('PgBouncer under load', { skip: engineMissing('postgres') || pgbouncerMissing }, () => {
  let server: DatabaseServer
  let pooler: Pooler
  before(async () => {
    const directory = memoryDirectory()
    server = await startPostgres({ ...(directory && { directory }), settings: { fsync: 'off' } })
    pooler = await startPgbouncer(server)
  }, options)
  after(async () => {
    printTable(table)
    await pooler?.remove()
    await server?.remove()
  })

  const row = (name: string, run: ChaosEvent['run'], more: Partial<Row> = {}) =>
    it(name, options, (t) =>
      surviveChaos(t, {
        databases: pooler,
        way: direct,
        events: Array.from({ length: TIMES }, () => ({ name, run })),
        ...more,
      }),
    )

  const planned = async () => {
    await pooler.command('PAUSE')
    await server.stop('clean')
    await server.start()
    await pooler.command('RESUME')
  }
  // However long the server takes to start.
  row('planned restart of PostgreSQL, between PAUSE and RESUME', planned, {
    mayBeRefused: 0,
    storeTimeout: 20,
  })
  // Writes on a connection that it cuts may have been done, so they are refused.
  row('restart of PgBouncer', () => pooler.restart())
})
