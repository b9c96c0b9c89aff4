import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeCertificates } from './certificates.ts'
import type { DatabaseServer, ServerOptions } from './database-server.ts'
import { findCommand } from './find-command.ts'
import { freePort } from './free-port.ts'
import { mysqlDatabases } from './mysql-databases.ts'
import { runOnce } from './run-once.ts'
import { ServerDirectory } from './server-directory.ts'
import { ServerProcess } from './server-process.ts'

/** Where servers are that are not on the PATH. */
const ELSEWHERE = [
  ...['/usr/sbin', '/usr/libexec', '/usr/local/bin', '/usr/local/sbin', '/usr/local/libexec'],
  ...['/usr/local/mysql/bin', '/opt/homebrew/bin'],
]

/** The server of MariaDB, or else of MySQL, if this machine has one. */
export function findMariadb(): string | undefined {
  return findCommand(['mariadbd', 'mysqld'], ELSEWHERE)
}

/**
 * Starts a MariaDB (or MySQL) of its own on 127.0.0.1, as durable as it is by default.
 * @throws Error if there is none, or with the output of the server if it does not start.
 */
export async function startMariadb(options: ServerOptions = {}): Promise<DatabaseServer> {
  const file = findMariadb()
  if (file === undefined) throw new Error('there is neither mariadbd nor mysqld: install mariadb-server')
  const directory = new ServerDirectory(options.directory)
  try {
    return await startIn(file, directory, options)
  } catch (error) {
    directory.remove()
    throw error
  }
}

async function startIn(file: string, directory: ServerDirectory, options: ServerOptions) {
  const data = directory.join('data')
  const certificates = options.tls ? makeCertificates(directory) : undefined
  const port = await freePort()
  const socket = directory.join('mysql.sock')
  const settings = {
    datadir: data,
    port: String(port),
    'bind-address': '127.0.0.1',
    socket,
    'pid-file': directory.join('mysql.pid'),
    // It would name what the tests do not use, and asks the network for names of clients.
    'skip-name-resolve': '1',
    // MySQL's second protocol, on a port that is the same for all.
    'loose-mysqlx': '0',
    ...(certificates && {
      'ssl-ca': certificates.caFile,
      'ssl-cert': certificates.certFile,
      'ssl-key': certificates.keyFile,
    }),
    // A server that starts removes what others have for a moment in a directory that they share.
    tmpdir: directory.path,
    ...options.settings,
  }
  const args = ['--no-defaults', ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`)]
  await initialize(file, args, directory)
  const server = new ServerProcess({
    file,
    args,
    ready: /: ready for connections/,
    directory,
    quit: 'SIGKILL',
  })
  const password = randomBytes(12).toString('hex')
  await server.start(`--init-file=${writeAdministrator(directory, password)}`)
  // Nothing ends it faster than SIGKILL.
  const end = {
    clean: () => server.end('SIGTERM'),
    immediate: () => server.kill(),
    kill: () => server.kill(),
  }
  return {
    ...mysqlDatabases(`mysql://administrator:${password}@127.0.0.1:${port}/mysql`, certificates?.ca),
    directory: directory.path,
    socket,
    caFile: certificates?.caFile,
    log: () => server.log(),
    stop: (how: keyof typeof end) => end[how](),
    start: () => server.start(),
    freeze: () => server.freeze(),
    thaw: () => server.thaw(),
    remove: () => server.remove(),
  }
}

/** Makes the data directory that the arguments of the server name. */
export async function initialize(
  file: string,
  args: readonly string[],
  directory: ServerDirectory,
): Promise<void> {
  const isMariadb = (await runOnce(directory, file, ['--version'])).includes('MariaDB')
  if (!isMariadb) {
    await runOnce(directory, file, [...args, '--initialize-insecure'])
    return
  }
  const beside = [dirname(file), join(dirname(file), '../bin'), join(dirname(file), '../scripts')]
  const installer = findCommand(['mariadb-install-db', 'mysql_install_db'], beside)
  if (installer === undefined) throw new Error(`there is ${file}, but no mariadb-install-db`)
  const extra = ['--auth-root-authentication-method=normal', '--skip-test-db']
  await runOnce(directory, installer, [...args, ...extra])
}

/** @returns a file of statements for the first start, when nobody can log in yet from outside. */
export function writeAdministrator(directory: ServerDirectory, password: string): string {
  const path = directory.join('administrator.sql')
  const statements = [
    `CREATE USER 'administrator'@'%' IDENTIFIED BY '${password}'`,
    "GRANT ALL ON *.* TO 'administrator'@'%' WITH GRANT OPTION",
  ]
  writeFileSync(path, statements.map((sql) => `${sql};\n`).join(''), { mode: 0o600 })
  directory.give('administrator.sql')
  return path
}
