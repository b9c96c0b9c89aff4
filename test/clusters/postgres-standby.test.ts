import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { PostgresDriver } from '../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../src/store/postgres/url.ts'
import { Caller } from '../faults/caller.ts'
import { asAdministrator, serve, until } from '../faults/engine-servers.ts'
import type { DatabaseServer } from '../support/database-server.ts'
import { engineMissing } from '../support/engines.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { memoryDirectory } from '../support/server-directory.ts'

const directory = memoryDirectory()
const options = { ...(directory && { directory }) }

/** The same URL with other hosts and parameters. */
function on(
  url: string,
  hosts: readonly { readonly host: string; readonly port: number }[],
  query = '',
): string {
  const { username, password, pathname } = new URL(url)
  const list = hosts.map(({ host, port }) => `${host}:${port}`)
  return `postgres://${username}:${password}@${list}${pathname}?${query}`
}

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
    const both = (attrs: string) => portOf(on(primary.url, [standby, primary], attrs))
    assert.equal(await both(''), primary.port)
    assert.equal(await both('target_session_attrs=primary'), primary.port)
    assert.equal(await both('target_session_attrs=any'), standby.port)
    const turned = (attrs: string) =>
      portOf(on(primary.url, [primary, standby], `target_session_attrs=${attrs}`))
    assert.equal(await turned('read-only'), standby.port)
    assert.equal(await turned('prefer-standby'), standby.port)
    assert.equal(await portOf(on(primary.url, [standby])), standby.port)
    await assert.rejects(portOf(on(primary.url, [standby], 'target_session_attrs=read-write')), {
      message: 'the server is read-only, and read-write is wanted',
    })
  })

  it('write again without a restart of the service when the standby has taken over', async (t) => {
    const url = await primary.createDatabase()
    const service = await serve(t, on(url, [primary, standby]))
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
