import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Caller, SOON } from './caller.ts'
import { onEachServer, readRows, serve } from './engine-servers.ts'
import { openNetwork } from './network.ts'

const BOOK = { title: 'T', author: 'A', year: 2 }

/** Requests of one moment. */
const WRITES = {
  'an update': ['PUT /book/1'],
  'a deletion': ['DELETE /book/1'],
  'a creation': ['POST /book'],
  'many creations': Array<string>(20).fill('POST /book'),
}

/*
 * A proxy, or a stalled server, may hold a request back and pass it on long after the service has given up and the
 * client has been told so.
 */
onEachServer(
  'what hangs on its way to the database server has no effect after it was refused',
  (server, engine) => {
    for (const [what, lines] of Object.entries(WRITES)) {
      // Elsewhere a creation is a single statement, which nothing stops.
      if (engine === 'mysql' && lines.includes('POST /book')) continue
      it(what, async (t) => {
        const url = await server().createDatabase()
        await using network = await openNetwork(server())
        const caller = new Caller(await serve(t, network.url(url), { STORE_TIMEOUT: SOON }))
        await caller.create()
        // Statements that are prepared are sent at once.
        await caller.ok('PUT /book/1', { year: 1 })
        // While the index uses the connection, a write would open another one, which is not held.
        await caller.untilIndexed()
        network.hold()
        const responses = await Promise.all(lines.map((line) => caller.call(line, BOOK)))
        assert.ok(responses.some(({ headers }) => headers.get('x-stored') === 'unknown'))
        await caller.ok('PUT /book/1', { year: 3 })
        await caller.create()
        const before = await readRows(server(), url)
        await network.letGo()
        assert.deepEqual(await readRows(server(), url), before)
      })
    }
  },
  { concurrency: true },
)
