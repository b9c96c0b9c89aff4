import { makeCertificates } from './certificates.ts'
import type { Databases } from './database-server.ts'
import { databasesAt } from './databases.ts'
import { freePort } from './free-port.ts'
import { findProgram } from './program.ts'
import { ServerDirectory } from './server-directory.ts'
import { ServerProcess } from './server-process.ts'

const { file, missing } = findProgram('pgbouncer', 'PGBOUNCER')
export const pgbouncerMissing = missing

/** Connections to the server for each database: fewer than clients have. */
const POOL_SIZE = 3

export type Pooler = Awaited<ReturnType<typeof startPgbouncer>>

/**
 * Starts a PgBouncer in front of a PostgreSQL, which gives every transaction another connection: databases that are made
 * on it are used through it.
 * @throws Error if there is none, or with what it said if it does not start.
 */
export async function startPgbouncer(server: Databases) {
  const directory = new ServerDirectory()
  const { certFile, keyFile } = makeCertificates(directory)
  const { username, password } = new URL(server.url)
  const port = await freePort()
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    pool_mode: 'transaction',
    default_pool_size: POOL_SIZE,
    max_client_conn: 500,
    auth_type: 'scram-sha-256',
    auth_file: directory.write('users.txt', `"${username}" "${password}"\n`),
    // Of all others it asks the server.
    auth_user: username,
    admin_users: username,
    client_tls_sslmode: 'allow',
    client_tls_cert_file: certFile,
    client_tls_key_file: keyFile,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const databases = `* = host=${server.host} port=${server.port}`
  const config = `[databases]\n${databases}\n[pgbouncer]\n${lines.join('\n')}\n`
  const pooler = await ServerProcess.started({
    file,
    args: [directory.write('pgbouncer.ini', config)],
    ready: /process up/,
    directory,
  })
  const through = (url: string) => Object.assign(new URL(url), { host: `127.0.0.1:${port}` })
  const admin = Object.assign(through(server.url), { pathname: 'pgbouncer' })
  return {
    ...server,
    /** Runs a command of PgBouncer, such as PAUSE. @returns the rows of its response. */
    command: (sql: string) => databasesAt(admin.href).query(sql),
    /** Ends it when no transaction runs, and starts it again. */
    restart: async () => {
      await pooler.end('SIGINT')
      await pooler.start()
    },
    createDatabase: async () => through(await server.createDatabase()).href,
    remove: () => pooler.remove(),
  }
}
