import pg from 'pg'
import type { Databases, Row } from './database-server.ts'
import { serverDatabases } from './server-databases.ts'

/**
 * @param url of an administrator, who may create roles and databases.
 * @param ca the certificate of the server's authority, to use TLS.
 */
export function postgresDatabases(url: string, ca?: string): Databases {
  const run = (url: string, ...statements: string[]) => runAll(url, ca, statements)
  return serverDatabases(url, {
    engine: 'postgres',
    defaultPort: 5432,
    run,
    creation: (name, password) => [
      `CREATE ROLE ${name} LOGIN PASSWORD '${password}'`,
      `CREATE DATABASE ${name} OWNER ${name} TEMPLATE template0`,
    ],
    drop: (name) => run(url, `DROP DATABASE ${name} WITH (FORCE)`, `DROP ROLE ${name}`),
  })
}

/** One by one, because a database cannot be created in a transaction. @returns the rows of the last statement. */
async function runAll(url: string, ca: string | undefined, statements: string[]): Promise<Row[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 20_000,
    ...(ca && { ssl: { ca } }),
  })
  // A server that ends cuts the connection also after its response.
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
