import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { type Engine, engineMissing, useDatabases } from '../support/engines.ts'

/**
 * A `describe` of tests in a browser. They run on SQLite, or on the engine that PAGE_ENGINE names.
 * @param suite gets a function that makes a new database, and returns the setting that leads to it.
 */
export function describeOnEngine(
  title: string,
  suite: (database: () => Promise<{ DB_URL: string }>) => void,
): void {
  const engine = (process.env.PAGE_ENGINE ?? 'sqlite') as Engine
  describe(`${title}, on ${engine}`, { skip: browserMissing || engineMissing(engine) }, () => {
    if (engine === 'sqlite') return suite(async () => ({ DB_URL: 'sqlite:books.db' }))
    const made: string[] = []
    suite(async () => {
      const DB_URL = await (await databases()).createDatabase()
      made.push(DB_URL)
      return { DB_URL }
    })
    // Runs after the suite's own hook, which ends the service.
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
