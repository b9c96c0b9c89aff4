import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { openPatiently } from '../store/new-database.ts'
import type { DatabaseServer } from '../support/database-server.ts'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { PATIENT, SETTINGS, spawnService, temporaryDirectory, untilListening } from '../support/service.ts'
import { Caller } from './caller.ts'
import { onEachServer, SERVER_ENGINES, startServer, until } from './engine-servers.ts'

const WAITING = /^DB_URL: waiting up to 30 seconds for the \w+ server at [^\n]+\n/

const INSTANCES = 8

/** Starts the service on a database that it cannot use yet. */
function beginStart(t: TestContext, DB_URL: string) {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  const started = spawnService(directory.path, { ...SETTINGS, DB_URL, STORE_TIMEOUT: PATIENT })
  t.after(() => started.child.kill('SIGKILL'))
  return started
}

const untilItWaits = ({ output }: ReturnType<typeof beginStart>) =>
  until('it says that it waits', () => WAITING.test(output()))

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
        const started = beginStart(t, database)
        await untilItWaits(started)
        await come(own)
        const url = await untilListening(started.child, started.output)
        assert.equal(await new Caller({ url }).create(), 1)
      })

    for (const [name, change, waits, reason] of [
      ['a server that is never there', async () => ({ port: await freePort() }), true, /ECONNREFUSED/],
      ['a wrong password', () => ({ password: 'wrong-password' }), false, /password|access denied/i],
      ['an unknown database', () => ({ pathname: '/missing' }), false, /missing/],
    ] as const)
      it(`with ${name}: ends with one line that says so, without a password`, async (t) => {
        const right = await server().createDatabase()
        const started = beginStart(t, Object.assign(new URL(right), await change()).href)
        assert.deepEqual(await started.ended, { code: 1, signal: null }, started.output())
        const text = started.output()
        assert.equal(WAITING.test(text), waits)
        assert.match(text.replace(WAITING, ''), /^Cannot start: DB_URL: [^\n]+\n$/)
        assert.match(text, reason)
        for (const secret of [new URL(right).password, 'wrong-password'])
          assert.ok(!text.includes(secret), text)
      })
  },
  { concurrency: true },
)

for (const engine of SERVER_ENGINES)
  describe(`${INSTANCES} instances on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)

    it('that open an empty database at once all work', async () => {
      const url = await (await databases()).createDatabase()
      const opening = await Promise.allSettled(Array.from({ length: INSTANCES }, () => openPatiently(url)))
      const stores = opening.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      const books = await Promise.all(
        stores.map((store) => store.create({ title: 'T', author: 'A', year: 1 })),
      )
      await Promise.all(stores.map((store) => store.close()))
      assert.equal(new Set(books.map(({ id }) => id)).size, INSTANCES, inspect(opening))
    })
  })
