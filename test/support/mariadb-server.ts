import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { makeCertificates } from './certificates.ts'
import type { DatabaseServer, ServerOptions } from './database-server.ts'
import { databasesAt } from './databases.ts'
import { freePort } from './free-port.ts'
import { findCommand } from './program.ts'
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
  const certificates = options.tls ? makeCertificates(directory) : undefined
  const port = await freePort()
  const settings = {
    ...commonSettings(directory, port),
    // MySQL's second protocol, on a port that is the same for all.
    'loose-mysqlx': '0',
    ...(certificates && {
      'ssl-ca': certificates.caFile,
      'ssl-cert': certificates.certFile,
      'ssl-key': certificates.keyFile,
    }),
    ...options.settings,
  }
  const args = argumentsOf(settings)
  await initialize(file, args, directory)
  const server = new ServerProcess({
    file,
    args,
    ready: /: ready for connections/,
    directory,
  })
  const password = randomBytes(12).toString('hex')
  await server.start(`--init-file=${writeAdministrator(directory, password)}`)
  return {
    ...databasesAt(administratorUrl(password, port), certificates?.ca),
    ...server.controls(),
    directory: directory.path,
    socket: settings.socket,
    caFile: certificates?.caFile,
    // Nothing ends it faster than SIGKILL.
    stop: (how) => (how === 'clean' ? server.end('SIGTERM') : server.kill()),
  }
}

/** Settings of every server, by name. */
export function commonSettings(directory: ServerDirectory, port: number) {
  return {
    datadir: directory.join('data'),
    port: String(port),
    'bind-address': '127.0.0.1',
    socket: directory.join('mysql.sock'),
    'pid-file': directory.join('mysql.pid'),
    // It would name what the tests do not use, and asks the network for names of clients.
    'skip-name-resolve': '1',
    // A server that starts removes what others have for a moment in a directory that they share.
    tmpdir: directory.path,
  }
}

export const argumentsOf = (settings: Readonly<Record<string, string>>) => [
  '--no-defaults',
  ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
]

export const administratorUrl = (password: string, port: number) =>
  `mysql://administrator:${password}@127.0.0.1:${port}/mysql`

/** Makes the data directory that the arguments of the server name. */
export async function initialize(
  file: string,
  args: readonly string[],
  directory: ServerDirectory,
): Promise<void> {
  const isMariadb = (await directory.run(file, ['--version'])).includes('MariaDB')
  if (!isMariadb) {
    await directory.run(file, [...args, '--initialize-insecure'])
    return
  }
  const beside = [dirname(file), join(dirname(file), '../bin'), join(dirname(file), '../scripts')]
  const installer = findCommand(['mariadb-install-db', 'mysql_install_db'], beside)
  if (installer === undefined) throw new Error(`there is ${file}, but no mariadb-install-db`)
  await directory.run(installer, [...args, '--auth-root-authentication-method=normal', '--skip-test-db'])
}

/** @returns a file of statements for the first start, when nobody can log in yet from outside. */
export function writeAdministrator(directory: ServerDirectory, password: string): string {
  const statements = [
    `CREATE USER 'administrator'@'%' IDENTIFIED BY '${password}'`,
    "GRANT ALL ON *.* TO 'administrator'@'%' WITH GRANT OPTION",
  ]
  return directory.write('administrator.sql', statements.map((sql) => `${sql};\n`).join(''))
}
