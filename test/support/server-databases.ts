import { randomBytes } from 'node:crypto'
import type { Databases, Row, ServerEngine } from './database-server.ts'
import { databaseUrl, nameIn } from './database-url.ts'

/** How an engine makes databases and drops them. A database and its user have the same name. */
interface DatabaseMaker {
  readonly engine: ServerEngine
  readonly defaultPort: number
  /** Runs statements through a connection of its own. @returns the rows of the last. */
  run(url: string, ...statements: string[]): Promise<Row[]>
  /** The statements that make a database and its user. */
  creation(name: string, password: string): string[]
  drop(name: string): Promise<unknown>
}

/** @param url of an administrator. */
export function serverDatabases(url: string, maker: DatabaseMaker): Databases {
  const { engine, defaultPort, run, creation, drop } = maker
  const { hostname, port } = new URL(url)
  return {
    engine,
    host: hostname,
    port: Number(port || defaultPort),
    url,
    async createDatabase() {
      const name = `books_${randomBytes(6).toString('hex')}`
      const password = randomBytes(12).toString('hex')
      await run(url, ...creation(name, password))
      return databaseUrl(url, name, password)
    },
    async dropDatabase(dropped) {
      await drop(nameIn(dropped))
    },
    query(sql, database) {
      const admin = new URL(url)
      if (database !== undefined) admin.pathname = nameIn(database)
      return run(admin.href, sql)
    },
  }
}
