import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { Databases, Row } from './database-server.ts'
import { databaseUrl, nameIn } from './database-url.ts'

/**
 * @param url of an administrator, who may create roles and databases.
 * @param ca the certificate of the server's authority, to use TLS.
 */
export function postgresDatabases(url: string, ca?: string): Databases {
  const run = (url: string, ...statements: string[]) => runAll(url, ca, statements)
  const { hostname, port } = new URL(url)
  return {
    engine: 'postgres',
    host: hostname,
    port: Number(port || 5432),
    url,
    async createDatabase() {
      const name = `books_${randomBytes(6).toString('hex')}`
      const password = randomBytes(12).toString('hex')
      // One by one, because a database cannot be created in a transaction.
      await run(
        url,
        `CREATE ROLE ${name} LOGIN PASSWORD '${password}'`,
        `CREATE DATABASE ${name} OWNER ${name} TEMPLATE template0`,
      )
      return databaseUrl(url, name, password)
    },
    async dropDatabase(dropped) {
      const name = nameIn(dropped)
      await run(url, `DROP DATABASE ${name} WITH (FORCE)`, `DROP ROLE ${name}`)
    },
    query(sql, database) {
      const admin = new URL(url)
      if (database !== undefined) admin.pathname = nameIn(database)
      return run(admin.href, sql)
    },
  }
}

/** @returns the rows of the last statement. */
async function runAll(url: string, ca: string | undefined, statements: string[]): Promise<Row[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 20_000,
    ...(ca && { ssl: { ca } }),
  })
  // A server that ends cuts the connection also after its answer.
  client.on('error', () => {})
  await client.connect()
  try {
    let rows: Row[] = []
    for (const sql of statements) rows = (await client.query<Row>(sql)).rows
    return rows
  } finally {
    await client.end()
  }
}
