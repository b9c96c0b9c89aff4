import { randomBytes } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import type { Row } from './database-server.ts'
import { databaseUrl, nameIn } from './database-url.ts'

const CONNECT_TIME = 20_000

/** How PostgreSQL makes a database and its user, who have the same name, and drops both. */
const POSTGRES = {
  engine: 'postgres',
  port: 5432,
  create: (name: string, password: string) => [
    `CREATE ROLE ${name} LOGIN PASSWORD '${password}'`,
    `CREATE DATABASE ${name} OWNER ${name} TEMPLATE template0`,
  ],
  drop: (name: string) => [`DROP DATABASE ${name} WITH (FORCE)`, `DROP ROLE ${name}`],
  async connect(url: string, ssl?: { ca: string }) {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_TIME,
      ...(ssl && { ssl }),
    })
    // A server that ends cuts the connection also after its response.
    client.on('error', () => {})
    await client.connect()
    return { run: async (sql: string) => (await client.query<Row>(sql)).rows, end: () => client.end() }
  },
} as const

/** The same of MySQL and MariaDB. */
const MYSQL = {
  engine: 'mysql',
  port: 3306,
  create: (name: string, password: string) => [
    `CREATE DATABASE ${name}`,
    `CREATE USER '${name}'@'%' IDENTIFIED BY '${password}'`,
    // In the name of a database, _ stands for any character.
    `GRANT ALL ON \`${name.replace('_', '\\_')}\`.* TO '${name}'@'%'`,
  ],
  drop: (name: string) => [`DROP DATABASE ${name}`],
  async connect(url: string, ssl?: { ca: string }) {
    const connection = await createConnection({ uri: url, connectTimeout: CONNECT_TIME, ...(ssl && { ssl }) })
    connection.on('error', () => {})
    const run = async (sql: string) => {
      const [answer] = await connection.query(sql)
      return Array.isArray(answer) ? (answer as Row[]) : []
    }
    return { run, end: () => connection.destroy() }
  },
} as const

/** A connection that stays, such as one that holds locks. */
export interface Session extends AsyncDisposable {
  /** @returns the rows of one statement. */
  run(sql: string): Promise<Row[]>
}

/** Connects as the URL says. @param ca the certificate of the server's authority, to use TLS. */
export async function openSession(url: string, ca?: string): Promise<Session> {
  const { run, end } = await engineOf(url).connect(url, ca === undefined ? undefined : { ca })
  return { run, [Symbol.asyncDispose]: async () => end() }
}

const engineOf = (url: string) => (url.startsWith('postgres') ? POSTGRES : MYSQL)

/**
 * @param url of an administrator, who may create users and databases.
 * @param ca the certificate of the server's authority, to use TLS.
 */
export function databasesAt(url: string, ca?: string) {
  const { hostname, port } = new URL(url)
  const engine = engineOf(url)
  /** One by one, because a database cannot be created in a transaction. @returns the rows of the last. */
  async function run(at: string, ...statements: string[]): Promise<Row[]> {
    await using session = await openSession(at, ca)
    let rows: Row[] = []
    for (const sql of statements) rows = await session.run(sql)
    return rows
  }
  return {
    engine: engine.engine,
    host: hostname,
    port: Number(port || engine.port),
    /** The administrator's URL. */
    url,
    /** Creates an empty database, and a user who may do anything in it and nothing else. @returns its DB_URL. */
    async createDatabase() {
      const name = `books_${randomBytes(6).toString('hex')}`
      const password = randomBytes(12).toString('hex')
      await run(url, ...engine.create(name, password))
      return databaseUrl(url, name, password)
    },
    /** Drops a database that `createDatabase` made, and its user, even while connections to it are open. */
    async dropDatabase(dropped: string) {
      const name = nameIn(dropped)
      if (engine === MYSQL) {
        // First, because a service may connect again after its connections are killed. They outlive their user.
        await run(url, `DROP USER '${name}'@'%'`)
        const open = await run(url, `SELECT id FROM information_schema.processlist WHERE user = '${name}'`)
        // Transactions that are open would hold the drop up. A connection may have ended meanwhile.
        for (const { id } of open) await run(url, `KILL ${id}`).catch(() => {})
      }
      await run(url, ...engine.drop(name))
    },
    /** Runs one statement as the administrator, in the database of that URL if there is one. */
    query(sql: string, database?: string) {
      const admin = new URL(url)
      if (database !== undefined) admin.pathname = nameIn(database)
      return run(admin.href, sql)
    },
  }
}
