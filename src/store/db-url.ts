import { isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import { StoreUnavailable } from '../catalogue/store.ts'
import { readSettingFile, refuseShellPath } from '../setting-file.ts'
import { type MysqlTarget, parseMysqlUrl } from './mysql/url.ts'
import { type PostgresTarget, parsePostgresKeywords, parsePostgresUrl } from './postgres/url.ts'

/** A parsed `DB_URL`. It can be cloned for a thread. */
export type DbUrl =
  | {
      readonly engine: 'sqlite'
      /** Of the database file; absolute, because a program with the service in it may change its working directory. */
      readonly path: string
    }
  | ServerUrl<'postgres', PostgresTarget>
  | ServerUrl<'mysql', MysqlTarget>

interface ServerUrl<Engine extends string, Target> {
  readonly engine: Engine
  readonly target: Target
  /** The absolute path of `DB_URL_FILE`, if the URL was read from that file. */
  readonly file?: string
}

export const ACCEPTED_DB_URLS =
  'sqlite:<path of a file>, postgres://user:password@host/database, host=… dbname=… user=… password=… (PostgreSQL), ' +
  'mysql://user:password@host/database, mariadb://user:password@host/database'

/** Matches `name=value …` if one of the names is known. Any other text with a `=` may be a secret. */
const KEYWORDS = /^(?=\s*[a-z_]+\s*=)(?:.*\s)?(?:host|hostaddr|port|dbname|user|password)\s*=/is

/** @throws Error that says what is wrong, without quoting the value, which may contain a password. */
export function parseDbUrl(text: string): DbUrl {
  if (KEYWORDS.test(text)) return { engine: 'postgres', target: parsePostgresKeywords(text) }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase()
  switch (scheme) {
    case undefined:
      throw new Error('has no scheme')
    case 'sqlite':
      return { engine: 'sqlite', path: resolve(parseSqlitePath(text)) }
    case 'postgres':
    case 'postgresql':
      return { engine: 'postgres', target: parsePostgresUrl(text) }
    case 'mysql':
    case 'mariadb':
      return { engine: 'mysql', target: parseMysqlUrl(text) }
    default:
      throw new Error('has an unknown scheme')
  }
}

/** @throws Error that says what is wrong, without the path or the content: the path may be a password by mistake. */
export function readDbUrlFile(path: string): DbUrl {
  const dbUrl = parseFile(path)
  return dbUrl.engine === 'sqlite' ? dbUrl : { ...dbUrl, file: resolve(path) }
}

/**
 * The target for a new connection. If the URL came from a file, this is what the file says now.
 * @throws StoreUnavailable if the file cannot be used now: somebody may be replacing it.
 */
export function latestTarget<Engine extends string, Target extends PostgresTarget | MysqlTarget>(
  first: ServerUrl<Engine, Target>,
): Target {
  if (first.file === undefined) return first.target
  try {
    const now = parseFile(first.file)
    const isSame =
      now.engine !== 'sqlite' && now.engine === first.engine && databaseOf(now) === databaseOf(first)
    if (isSame) return now.target as Target
  } catch (error) {
    throw new StoreUnavailable(`DB_URL_FILE ${(error as Error).message}`)
  }
  throw new StoreUnavailable('DB_URL_FILE names another engine or database than at the start')
}

const parseFile = (path: string) => parseDbUrl(readSettingFile(path))

/** @returns the URL for messages, without password and parameters. */
export function describeDbUrl(dbUrl: DbUrl): string {
  if (dbUrl.engine === 'sqlite') return `sqlite:${dbUrl.path}`
  const { engine, target } = dbUrl
  const socket = 'socket' in target ? target.socket : undefined
  const hosts = target.hosts.map(({ host = 'localhost', port }) => {
    const name = isIPv6(host) ? `[${host}]` : encodeURIComponent(host)
    return port === undefined ? name : `${name}:${port}`
  })
  const account = target.user === undefined ? '' : `${encodeURIComponent(target.user)}@`
  const server = socket === undefined ? hosts.join() : encodeURIComponent(socket)
  return `${engine}://${account}${server}/${encodeURIComponent(databaseOf(dbUrl) ?? '')}`
}

/** Follows libpq's rule for an absent name. */
function databaseOf({ target }: { readonly target: PostgresTarget | MysqlTarget }): string | undefined {
  return target.database ?? target.user
}

/** sqlite:relative, sqlite:/absolute, and the URL forms sqlite://relative and sqlite:///absolute. */
function parseSqlitePath(text: string): string {
  const path = text
    .slice('sqlite:'.length)
    .replace(/^\/\//, '')
    // A Windows drive, as in sqlite:///C:/books.db.
    .replace(/^\/(?=[a-z]:)/i, '')
  if (path === '') throw new Error('names no file')
  if (path === ':memory:') throw new Error('names no file, and a catalogue in memory would lose its books')
  refuseShellPath(path)
  if (path.includes('?') || path.includes('\0')) throw new Error('has options after the path')
  return path
}
