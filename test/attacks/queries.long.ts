import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { asAdministrator, openSession, serve, until } from '../faults/engine-servers.ts'
import { logIn, untilIndexed } from '../support/client.ts'
import { nameIn } from '../support/database-url.ts'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { type ServiceInUse, useService } from '../support/use-service.ts'
import { useDatabase } from './polite-client.ts'

/** Books: a query for all of them takes longer than a request. */
const BOOKS = 5000

const CROWD = 40

/** Checks that a client comes between those of a crowd at one address, although the service finds its request behind theirs. */
async function letsOthersBetween(service: ServiceInUse, path: string): Promise<void> {
  const ask = async (address: string) => {
    const headers = { authorization: service.token, 'x-forwarded-for': address }
    // What has waited for too long, on a machine that stood still, is refused.
    let response: Response
    do response = await fetch(service.url + path, { headers })
    while ((await response.arrayBuffer()) && response.status === 503)
    assert.equal(response.status, 200)
  }
  // As many connections as a crowd and one more client need, so that those to a database server are open too.
  await Promise.all(Array.from({ length: CROWD + 1 }, (_, i) => ask(`198.51.100.${i}`)))
  const counts: number[] = []
  // A busy machine may come late to the thread or the server that answers it.
  for (let attempt = 0; attempt < 3; attempt++) {
    let answered = 0
    // Otherwise it might have answered the first before the last has sent anything.
    service.freeze()
    const asking = Array.from({ length: CROWD }, () => ask('192.0.2.1').then(() => answered++))
    const other = ask('192.0.2.2')
    // So long that the system has got what they send.
    await setTimeout(200)
    service.thaw()
    await other
    counts.push(answered)
    await Promise.all(asking)
    if (counts.some((count) => count < CROWD * 0.75)) return
  }
  assert.fail(`${counts} of ${CROWD} were answered before`)
}

for (const engine of ENGINES)
  describe(`expensive queries on ${engine}`, { skip: engineMissing(engine) }, () => {
    const database = useDatabase(engine)
    // Requests may say which client they come from.
    const service = useService(
      async (started) => {
        const books = Array.from({ length: BOOKS }, (_, year) => ({
          title: `Book ${year}`,
          author: 'A',
          year,
        }))
        await started.importBooks(books)
        await untilIndexed(started.url, started.token)
      },
      async () => ({ TRUST_PROXY: '127.0.0.1', ...(await database()) }),
    )

    for (const path of [
      '/books?sort=-title&limit=100',
      '/books?q=book&limit=20&count=true',
      '/books/statistics?q=book',
    ])
      it(`of a crowd at one address let those of others come between: ${path}`, () =>
        letsOthersBetween(service, path))

    // On SQLite: test/store/contract-query.ts.
    if (engine === 'sqlite') return
    const databases = useDatabases(engine)
    it('are cancelled on the server when their client is gone', async (t) => {
      const on = await databases()
      const url = await on.createDatabase()
      const service = await serve(t, url)
      const headers = { authorization: await logIn(service.url) }
      const [running, lock, unlock] =
        engine === 'postgres'
          ? [
              `pg_stat_activity WHERE usename = '${nameIn(url)}' AND state = 'active' AND query LIKE '%AS total%'`,
              'BEGIN; LOCK TABLE books IN ACCESS EXCLUSIVE MODE',
              'COMMIT',
            ]
          : [
              `information_schema.processlist WHERE user = '${nameIn(url)}' AND info LIKE '%AS total%'`,
              'LOCK TABLES books WRITE',
              'UNLOCK TABLES',
            ]
      const isRunning = async () => (await on.query(`SELECT 1 FROM ${running}`)).length > 0
      const query = (signal: AbortSignal | null = null) =>
        fetch(`${service.url}/books/statistics`, { headers, signal })
      await using session = await openSession(asAdministrator(on, url))
      // A query begins when the sort keys have been looked at: at once, or after half of its time behind the lock.
      await (await query()).arrayBuffer()
      // A statement that waits for a lock runs for as long as one likes.
      await session.run(lock)
      const client = new AbortController()
      const response = query(client.signal).catch(() => {})
      await until('the query runs', isRunning)
      client.abort()
      await response
      // Otherwise the deadline of the service would end it, at the earliest after half of its 60 seconds.
      await until('it does not run any more', async () => !(await isRunning()), 20_000)
      await session.run(unlock)
      assert.equal((await query()).status, 200)
      assert.doesNotMatch(service.output(), /"level":[456]0/)
    })
  })
