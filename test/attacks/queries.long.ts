import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createKeyIndex, KEY_INDEXES, UNINDEXED } from '../../src/store/sqlite/schema.ts'
import { asAdministrator, openSession, serve, until } from '../faults/engine-servers.ts'
import { logIn, untilIndexed } from '../support/client.ts'
import { nameIn } from '../support/database-url.ts'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { type ServiceInUse, useService } from '../support/use-service.ts'
import { withstand } from './polite-client.ts'

const BOOKS = 500_000

/** Books on a server: a query for all of them takes longer than a request. */
const SOME_BOOKS = 5000

/** Books, and their index as the service would make it, only sooner. */
const FILL = `
  PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN;
  WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < ${BOOKS})
  INSERT INTO books SELECT i, concat('The title of book number ', i), concat('Author ', i % 5000), i % 2000
  FROM number;
  ${KEY_INDEXES.map(({ name }) => `DROP INDEX ${name}`).join(';')};
  INSERT INTO book_keys SELECT * FROM books;
  ${KEY_INDEXES.map(createKeyIndex).join(';')};
  INSERT INTO book_words (rowid, words) SELECT id, lower(concat(title, ' ', author)) FROM books;
  DELETE FROM ${UNINDEXED}; COMMIT`

/** Clients that attack, every second of which hangs up after so many milliseconds. */
const [CLIENTS, HANG_UP] = [12, 200]

/** Every word of every book begins with some of them: all books are found, in the most expensive way. */
const EXPENSIVE = [
  '/books/statistics?q=a',
  '/books/statistics?q=b+t+n+o',
  '/books?q=a&sort=-title&count=true',
]

/**
 * The most processor time that the service takes during a request of a polite client beside them, in milliseconds. Without
 * turns its query would wait for ten of theirs.
 */
const BOUNDS = { read: 1000, page: 1000, write: 1000, health: 1000, query: 6000 }

/** Queries that a crowd sends at the same time. @param word to search for. */
const crowded = (word: string) => [
  '/books?sort=-title&limit=100',
  `/books?q=${word}&limit=20&count=true`,
  `/books/statistics?q=${word}`,
]

const CROWD = 40

/** For how long the service stands still, so that the system has got what clients send meanwhile; in milliseconds. */
const STANDSTILL = 200

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
    await setTimeout(STANDSTILL)
    service.thaw()
    await other
    counts.push(answered)
    await Promise.all(asking)
    if (counts.some((count) => count < CROWD * 0.75)) return
  }
  assert.fail(`${counts} of ${CROWD} were answered before`)
}

describe('expensive queries on SQLite', () => {
  // Requests may say which client they come from.
  const service = useService(
    async (started) => {
      using database = new DatabaseSync(join(started.directory, 'books.db'), { timeout: 60_000 })
      database.exec(FILL)
      await untilIndexed(started.url, started.token)
    },
    { TRUST_PROXY: '127.0.0.1' },
  )

  it('of many clients at one address, every second of which hangs up, hardly keep one at another waiting', async (t) => {
    await withstand(
      t,
      service,
      BOUNDS,
      async (signal) => {
        const headers = { authorization: service.token, 'x-forwarded-for': '192.0.2.1' }
        const attack = Array.from({ length: CLIENTS }, async (_, i) => {
          for (let j = i; !signal.aborted; j++) {
            const end = i % 2 === 0 ? AbortSignal.any([signal, AbortSignal.timeout(HANG_UP)]) : signal
            await fetch(service.url + EXPENSIVE[j % EXPENSIVE.length], { headers, signal: end })
              // A list whose next page has to wait for too long is cut.
              .then((response) => response.arrayBuffer())
              .catch(() => {})
          }
        })
        await Promise.all(attack)
      },
      10,
    )
  })

  for (const path of crowded('5000'))
    it(`of a crowd at one address let those of others come between: ${path}`, () =>
      letsOthersBetween(service, path))
})

for (const engine of ['postgres', 'mysql'] as const) {
  describe(`expensive queries on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)
    const service = useService(
      async (started) => {
        await started.importBooks(
          Array.from({ length: SOME_BOOKS }, (_, i) => ({ title: `Book ${i}`, author: 'A', year: i })),
        )
        await untilIndexed(started.url, started.token)
      },
      async () => ({ DB_URL: await (await databases()).createDatabase(), TRUST_PROXY: '127.0.0.1' }),
    )

    for (const path of crowded('book'))
      it(`of a crowd at one address let those of others come between: ${path}`, () =>
        letsOthersBetween(service, path))

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
}
