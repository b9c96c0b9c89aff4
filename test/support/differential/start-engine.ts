import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Databases } from '../database-server.ts'
import type { Engine } from '../engines.ts'
import { startService, temporaryDirectory } from '../service.ts'
import { EngineInUse } from './engine.ts'

/**
 * Starts the service on a new database, and gives everything up to the stack.
 * @param getDatabases the server, of an engine that is one.
 */
export async function startEngine(
  name: Engine,
  stack: AsyncDisposableStack,
  getDatabases?: () => Promise<Databases>,
): Promise<EngineInUse> {
  const directory = temporaryDirectory()
  stack.defer(directory.remove)
  const [DB_URL, setNextId] =
    getDatabases === undefined
      ? sqliteDatabase(directory.path)
      : await serverDatabase(await getDatabases(), stack)
  const service = await startService(directory.path, { DB_URL })
  stack.defer(async () => {
    await service.stop()
  })
  const engine = new EngineInUse(name, service.url, setNextId)
  stack.defer(() => engine.end())
  return engine
}

type Database = readonly [url: string, setNextId: (id: number) => Promise<unknown>]

function sqliteDatabase(directory: string): Database {
  const setNextId = async (id: number) => {
    using database = new DatabaseSync(join(directory, 'books.db'))
    database.exec(`
      DELETE FROM sqlite_sequence WHERE name = 'books';
      INSERT INTO sqlite_sequence (name, seq) VALUES ('books', ${id - 1})`)
  }
  return ['sqlite:books.db', setNextId]
}

async function serverDatabase(databases: Databases, stack: AsyncDisposableStack): Promise<Database> {
  const url = await databases.createDatabase()
  stack.defer(() => databases.dropDatabase(url))
  const change = databases.engine === 'mysql' ? 'AUTO_INCREMENT = ' : 'ALTER id RESTART WITH '
  return [url, (id) => databases.query(`ALTER TABLE books ${change}${id}`, url)]
}
