import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { onServers, prepareDatabase } from '../store/client-server/prepared-database.ts'
import type { DatabaseServer } from '../support/database-server.ts'
import { PATIENT, SETTINGS, spawnService, temporaryDirectory, untilListening } from '../support/service.ts'
import { Caller } from './caller.ts'
import { onEachServer, readRows, startServer, until } from './engine-servers.ts'

const WAITING = /^DB_URL: waiting up to 30 seconds for the \w+ server at [^\n]+\n/

const INSTANCES = 8

/** Starts the service on a database that it cannot use yet. */
function beginStart(t: TestContext, DB_URL: string) {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  const settings = { ...SETTINGS, DB_URL, STORE_TIMEOUT: PATIENT, LOG_LEVEL: 'trace' }
  const started = spawnService(directory.path, settings)
  t.after(() => started.child.kill('SIGKILL'))
  return started
}

onEachServer(
  'the start of the service',
  (server, engine) => {
    for (const [name, leave, come] of [
      ['is not up', (own: DatabaseServer) => own.stop('clean'), (own: DatabaseServer) => own.start()],
      ['stands still', (own: DatabaseServer) => own.freeze(), (own: DatabaseServer) => own.thaw()],
    ] as const)
      it(`on a server that ${name}: waits, says so, and serves when it is there`, async (t) => {
        const own = await startServer(engine)
        t.after(() => own.remove())
        const database = await own.createDatabase()
        await leave(own)
        const { child, output } = beginStart(t, database)
        await until('it says that it waits', () => WAITING.test(output()))
        await come(own)
        const url = await untilListening(child, output)
        assert.equal(await new Caller({ url }).create(), 1)
      })

    for (const [name, change, waits, reason] of [
      ['a host whose name is never known', { hostname: 'name.invalid' }, true, /ENOTFOUND|EAI_AGAIN/],
      ['a wrong password', { password: 'wrong-password' }, false, /password|access denied/i],
      ['an unknown database', { pathname: '/missing' }, false, /missing/],
    ] as const)
      it(`with ${name}: ends with one line that says so, without a password`, async (t) => {
        const right = await server().createDatabase()
        const url = new URL(right)
        Object.assign(url, change)
        const { ended, output } = beginStart(t, url.href)
        assert.deepEqual(await ended, { code: 1, signal: null }, output())
        assert.equal(WAITING.test(output()), waits)
        assert.match(output().replace(WAITING, ''), /^Cannot start: DB_URL: [^\n]+\n$/)
        assert.match(output(), reason)
        for (const secret of [new URL(right).password, url.password])
          assert.ok(!output().includes(secret), output())
      })
  },
  { concurrency: true },
)

onServers(`${INSTANCES} instances`, (_, databases) =>
  it('that start at once on an empty database all work', async (t) => {
    const { open, reports, url } = await prepareDatabase(t, databases)
    const stores = await Promise.all(Array.from({ length: INSTANCES }, () => open()))
    await Promise.all(stores.map((store) => store.create({ title: 'T', author: 'A', year: 1 })))
    const rows = await readRows(await databases(), url)
    assert.equal(rows.length, INSTANCES)
    for (const store of stores)
      for (const row of rows) assert.deepEqual({ ...(await store.find(row.id)) }, row)
    assert.deepEqual(reports, [])
  }),
)
