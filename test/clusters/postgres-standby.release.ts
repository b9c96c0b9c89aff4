import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { PostgresDriver } from '../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../src/store/postgres/url.ts'
import { Caller, SOON } from '../faults/caller.ts'
import { asAdministrator, serve, until } from '../faults/engine-servers.ts'
import type { DatabaseServer } from '../support/database-server.ts'
import { engineMissing } from '../support/engines.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { memoryDirectory } from '../support/server-directory.ts'
import { severalHosts } from './chaos.ts'

const options = { directory: memoryDirectory() }

/** The same URL with other hosts and parameters. */
const on = (url: string, hosts: readonly DatabaseServer[], query = '') =>
  severalHosts(
    hosts.map(({ host, port }) => `${host}:${port}`),
    `?${query}`,
  )(url)

describe('a primary and its standby', { skip: engineMissing('postgres') }, () => {
  let primary: DatabaseServer
  let standby: DatabaseServer
  before(async () => {
    primary = await startPostgres(options)
    standby = await startPostgres({ ...options, standbyOf: primary })
  })
  after(() => Promise.all([primary?.remove(), standby?.remove()]))

  /** The port of the server to which a driver connects. */
  async function portOf(url: string): Promise<number> {
    const driver = new PostgresDriver(parsePostgresUrl(url, {}))
    const client = await driver.connect()
    const { rows } = await client.query('SELECT inet_server_port() AS port')
    await driver.end(client)
    return rows[0].port
  }

  it('are told apart', async () => {
    for (const [hosts, attrs, expected] of [
      [[standby, primary], '', primary],
      [[standby, primary], 'target_session_attrs=primary', primary],
      [[standby, primary], 'target_session_attrs=any', standby],
      [[primary, standby], 'target_session_attrs=read-only', standby],
      [[primary, standby], 'target_session_attrs=prefer-standby', standby],
      [[standby], '', standby],
    ] as const)
      assert.equal(await portOf(on(primary.url, hosts, attrs)), expected.port, attrs)
    await assert.rejects(portOf(on(primary.url, [standby], 'target_session_attrs=read-write')), {
      message: 'the server is read-only, and read-write is wanted',
    })
  })

  it('cancel a statement on the server of the connection', async () => {
    const url = on(primary.url, [primary, standby], 'target_session_attrs=standby')
    const driver = new PostgresDriver(parsePostgresUrl(url, {}))
    const client = await driver.connect()
    const slept = assert.rejects(client.query('SELECT pg_sleep(20)'), /canceling statement/)
    const sleeping = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"
    await until('it sleeps', async () => (await standby.query(sleeping)).length === 1)
    await driver.cancel(client)
    await slept
    await driver.end(client)
  })

  it('serve reads alone on the standby, which is ready only if DB_URL says that reads are enough', async (t) => {
    const url = await primary.createDatabase()
    const writer = new Caller(await serve(t, url))
    const id = await writer.create('Dune')
    await replicated(id, url)
    for (const [query, ready] of [
      ['', 503],
      ['target_session_attrs=any', 200],
      ['target_session_attrs=prefer-standby', 200],
    ] as const) {
      const service = await serve(t, on(url, [standby], query), { STORE_TIMEOUT: SOON })
      const reader = new Caller(service)
      assert.equal((await reader.call('GET /readyz')).status, ready, query)
      assert.equal((await reader.ok<{ title: string }>(`GET /book/${id}`)).title, 'Dune')
      await Promise.all([
        reader.unavailable(`PUT /book/${id}`, { title: 'refused' }),
        reader.unavailable('POST /book', { title: 'refused', author: 'A', year: 1 }),
        reader.unavailable(`DELETE /book/${id}`),
      ])
      assert.equal((await reader.ok<unknown[]>('GET /books?q=dune')).length, 1)
      await service.stop()
    }
    assert.equal((await writer.call('GET /readyz')).status, 200)
  })

  it('answer searches on the standby from what the primary has indexed', async (t) => {
    const url = await primary.createDatabase()
    const service = await serve(t, url)
    const id = await new Caller(service).create('Dune')
    await service.stop()
    await primary.query(`UPDATE books SET title = 'Kindred' WHERE id = ${id}`, asAdministrator(primary, url))
    const reader = new Caller(await serve(t, on(url, [standby], 'target_session_attrs=standby')))
    await until('the standby has the change', async () => {
      return (await reader.ok<{ title: string }>(`GET /book/${id}`)).title === 'Kindred'
    })
    const search = async () => {
      const response = await reader.call('GET /books?q=dune')
      assert.equal(response.headers.get('x-search-index'), 'incomplete')
      assert.equal(JSON.parse(response.body).data.length, 1)
    }
    await search()
    const backends = () =>
      standby.query("SELECT pid FROM pg_stat_activity WHERE datname ~ '^books_' ORDER BY pid")
    const before = await backends()
    for (let i = 0; i < 3; i++) await search()
    assert.deepEqual(await backends(), before, 'a search has cost connections')
  })

  it('write again without a restart of the service when the standby has taken over', async (t) => {
    const url = await primary.createDatabase()
    const service = await serve(t, on(url, [primary, standby]), { STORE_TIMEOUT: SOON })
    const caller = new Caller(service)
    const id = await caller.create('before')
    await replicated(id, url)
    await primary.stop('kill')
    await caller.unavailable(`PUT /book/${id}`, { title: 'nobody writes' })
    await standby.query('SELECT pg_promote()')
    await caller.recovers(`PUT /book/${id}`, { title: 'after' })
    const { title } = await caller.ok<{ title: string }>(`GET /book/${id}`)
    assert.equal(title, 'after')
    assert.equal((await caller.call('GET /readyz')).status, 200)
  })

  async function replicated(id: number, url: string): Promise<void> {
    const database = asAdministrator(standby, url)
    await until('the standby has the book', async () => {
      const rows = await standby.query(`SELECT id FROM books WHERE id = ${id}`, database).catch(() => [])
      return rows.length === 1
    })
  }
})
