import { createConnection } from 'mysql2/promise'
import type { Databases, Row } from './database-server.ts'
import { serverDatabases } from './server-databases.ts'

/**
 * @param url of an administrator, who may create users and databases.
 * @param ca the certificate of the server's authority, to use TLS.
 */
export function mysqlDatabases(url: string, ca?: string): Databases {
  const run = (url: string, ...statements: string[]) => runAll(url, ca, statements)
  return serverDatabases(url, {
    engine: 'mysql',
    defaultPort: 3306,
    run,
    creation: (name, password) => [
      `CREATE DATABASE ${name}`,
      `CREATE USER '${name}'@'%' IDENTIFIED BY '${password}'`,
      // In the name of a database, _ stands for any character.
      `GRANT ALL ON \`${name.replace('_', '\\_')}\`.* TO '${name}'@'%'`,
    ],
    async drop(name) {
      const open = await run(url, `SELECT id FROM information_schema.processlist WHERE user = '${name}'`)
      // Transactions that are open would hold the drop up. A connection may have ended meanwhile.
      for (const { id } of open) await run(url, `KILL ${id}`).catch(() => {})
      await run(url, `DROP DATABASE ${name}`, `DROP USER '${name}'@'%'`)
    },
  })
}

/** @returns the rows of the last statement. */
async function runAll(url: string, ca: string | undefined, statements: string[]): Promise<Row[]> {
  const connection = await createConnection({
    uri: url,
    connectTimeout: 20_000,
    ...(ca && { ssl: { ca } }),
  })
  // A server that ends cuts the connection also after its response.
  connection.on('error', () => {})
  try {
    let rows: Row[] = []
    for (const sql of statements) {
      const [answer] = await connection.query(sql)
      rows = Array.isArray(answer) ? (answer as Row[]) : []
    }
    return rows
  } finally {
    connection.destroy()
  }
}
