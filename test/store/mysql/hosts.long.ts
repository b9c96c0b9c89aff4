import assert from 'node:assert/strict'
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { MysqlDriver } from '../../../src/store/mysql/driver.ts'
import { parseMysqlUrl } from '../../../src/store/mysql/url.ts'
import { Caller, SOON } from '../../faults/caller.ts'
import { asAdministrator, serve, until } from '../../faults/engine-servers.ts'
import type { DatabaseServer } from '../../support/database-server.ts'
import { engineMissing } from '../../support/engines.ts'
import { startMariadb } from '../../support/mariadb-server.ts'
import { memoryDirectory } from '../../support/server-directory.ts'
import { temporaryDirectory } from '../../support/service.ts'

const directory = memoryDirectory()

/** How many transactions were begun, on any connection to the server. */
const transactions = (server: DatabaseServer) => server.query("SHOW GLOBAL STATUS LIKE 'Com\\_begin'")

/** Finds a statement that sleeps and has not been cancelled. */
const SLEEPING = `
  SELECT 1 FROM information_schema.processlist WHERE info = 'SELECT SLEEP(1000)' AND command = 'Query'`

const CONNECTIONS = "SELECT 1 FROM information_schema.processlist WHERE user = 'u'"

describe('several hosts with MariaDB', { skip: engineMissing('mysql') }, () => {
  let writable: DatabaseServer
  let readOnly: DatabaseServer
  before(async () => {
    const options = { ...(directory && { directory }) }
    const servers = await Promise.all([startMariadb(options), startMariadb(options)])
    writable = servers[0]
    readOnly = servers[1]
    for (const server of servers) await server.query("CREATE USER u@'%' IDENTIFIED BY 'p'")
    await readOnly.query('SET GLOBAL read_only = 1')
  })
  after(() => Promise.all([writable?.remove(), readOnly?.remove()]))

  const on = (database: string, servers: readonly DatabaseServer[]) =>
    database.replace(/@[^/]*/, `@${servers.map(({ port }) => `127.0.0.1:${port}`)}`)

  it('serve reads alone where they are read-only, and are ready only if DB_URL says that reads are enough', async (t) => {
    const database = await readOnly.createDatabase()
    await readOnly.query('SET GLOBAL read_only = 0')
    const writer = new Caller(await serve(t, database, { STORE_TIMEOUT: SOON }))
    const id = await writer.create('Dune')
    assert.equal((await writer.ok<unknown[]>('GET /books?q=dune')).length, 1)
    await readOnly.query('SET GLOBAL read_only = 1')
    await readOnly.query(
      `UPDATE books SET title = 'Kindred' WHERE id = ${id}`,
      asAdministrator(readOnly, database),
    )
    await writer.unavailable('GET /readyz')
    for (const [query, ready] of [
      ['', 503],
      ['?target_session_attrs=any', 200],
      ['?target_session_attrs=standby', 200],
    ] as const) {
      const earlier = await transactions(readOnly)
      const reader = new Caller(await serve(t, database + query, { STORE_TIMEOUT: SOON }))
      assert.deepEqual(await transactions(readOnly), earlier, 'the start tried to write')
      assert.equal((await reader.call('GET /readyz')).status, ready, query)
      assert.equal((await reader.ok<{ title: string }>(`GET /book/${id}`)).title, 'Kindred')
      await reader.unavailable(`PUT /book/${id}`, { title: 'refused' })
      const response = await reader.call('GET /books?q=dune')
      assert.equal(response.headers.get('x-search-index'), 'incomplete')
      assert.equal(JSON.parse(response.body).data.length, 1)
    }
    await readOnly.query('SET GLOBAL read_only = 0')
    await writer.ok('GET /readyz')
    await readOnly.query('SET GLOBAL read_only = 1')
  })

  it('are ready at once when they change their roles, and connections to both are open', async (t) => {
    const database = await writable.createDatabase()
    const { username, password } = new URL(database)
    await readOnly.query('SET GLOBAL read_only = 0')
    for (const sql of [
      `CREATE DATABASE ${username}`,
      `CREATE USER '${username}'@'%' IDENTIFIED BY '${password}'`,
      `GRANT ALL ON ${username}.* TO '${username}'@'%'`,
    ])
      await readOnly.query(sql)
    // It creates the table on the server to come.
    await (await serve(t, on(database, [readOnly]))).stop()
    await readOnly.query('SET GLOBAL read_only = 1')
    const caller = new Caller(await serve(t, on(database, [writable, readOnly])))
    await caller.create()
    await writable.query('SET GLOBAL read_only = 1')
    await readOnly.query('SET GLOBAL read_only = 0')
    try {
      await caller.ok('GET /readyz')
      assert.equal(await caller.create(), 1)
    } finally {
      await writable.query('SET GLOBAL read_only = 0')
      await readOnly.query('SET GLOBAL read_only = 1')
    }
  })

  it('cancels on the server of the connection', async () => {
    const hosts = on('mysql://u:p@/information_schema', [writable, readOnly])
    const driver = new MysqlDriver(parseMysqlUrl(`${hosts}?target_session_attrs=read-only`))
    const connection = await driver.connect()
    const slept = connection.query('SELECT SLEEP(1000)').catch((error) => error.errno)
    await until('it sleeps', async () => (await readOnly.query(SLEEPING)).length === 1)
    await driver.cancel(connection)
    // A sleep that is interrupted is not an error for every server.
    await slept
    await driver.end(connection)
  })
  it('cancels nothing on another server that has the same address, as behind a balancer', async (t) => {
    const directory = temporaryDirectory()
    t.after(directory.remove)
    const path = join(directory.path, 'mysql.sock')
    const driver = new MysqlDriver(parseMysqlUrl(`mysql://u:p@localhost/information_schema?socket=${path}`))
    const connectTo = (server: DatabaseServer) => {
      rmSync(path, { force: true })
      symlinkSync(server.socket ?? assert.fail('it has no socket'), path)
      return driver.connect()
    }
    let [own, others] = [await connectTo(writable), await connectTo(readOnly)]
    while (own.threadId !== others.threadId) {
      const isBehind = own.threadId < others.threadId
      await driver.end(isBehind ? own : others)
      if (isBehind) own = await connectTo(writable)
      else others = await connectTo(readOnly)
    }
    const slept = others.query('SELECT SLEEP(1000)').catch(() => {})
    await until('it sleeps', async () => (await readOnly.query(SLEEPING)).length === 1)
    await driver.end(await connectTo(readOnly))
    await driver.cancel(own)
    assert.equal((await readOnly.query(SLEEPING)).length, 1)
    await driver.cancel(others)
    await slept
    for (const connection of [own, others]) await driver.end(connection)
    await until('no connection is left', async () => (await readOnly.query(CONNECTIONS)).length === 0)
  })
})
