import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { engineMissing, useDatabases } from '../support/engines.ts'

/** SQLite, where queries are threads of the service's own, and a server; the third engine has the same answers. */
const ENGINES = ['sqlite', 'postgres'] as const

/**
 * A `describe` for each engine, of tests in a browser.
 * @param suite gets what makes a new database, and answers the setting that leads to it.
 */
export function describeOnEngines(
  title: string,
  suite: (database: () => Promise<{ DB_URL: string }>) => void,
): void {
  for (const engine of ENGINES)
    describe(`${title}, on ${engine}`, { skip: browserMissing || engineMissing(engine) }, () => {
      if (engine === 'sqlite') return suite(async () => ({ DB_URL: 'sqlite:books.db' }))
      const made: string[] = []
      suite(async () => {
        const DB_URL = await (await databases()).createDatabase()
        made.push(DB_URL)
        return { DB_URL }
      })
      // After the suite's own, which ends the service: hooks run in this order.
      after(async () => {
        for (const url of made) {
          const rows = await (await databases()).query('SELECT 1 FROM books LIMIT 1', url)
          await (await databases()).dropDatabase(url)
          assert.equal(rows.length, 1, 'the service has not used this database')
        }
      })
      const databases = useDatabases(engine)
    })
}
