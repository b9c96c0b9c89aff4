import { isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import { StoreUnavailable } from '../catalogue/store.ts'
import { readSettingFile, refuseShellPath } from '../setting-file.ts'
import { type MysqlTarget, parseMysqlUrl } from './mysql/url.ts'
import { type PostgresTarget, parsePostgresKeywords, parsePostgresUrl } from './postgres/url.ts'

/** Where the store is, as read from `DB_URL`. It can be cloned. */
export type DbUrl =
  | {
      readonly engine: 'sqlite'
      /** Path of the database file, relative to the working directory or absolute. */
      readonly path: string
    }
  | ServerUrl<'postgres', PostgresTarget>
  | ServerUrl<'mysql', MysqlTarget>

interface ServerUrl<Engine extends string, Target> {
  readonly engine: Engine
  readonly target: Target
  /** Path of the `DB_URL_FILE` that the URL is from. */
  readonly file?: string
}

/** The accepted forms of `DB_URL`, for messages. */
export const ACCEPTED_DB_URLS =
  'sqlite:<path of a file>, postgres://user:password@host/database, host=… dbname=… user=… password=… (PostgreSQL), ' +
  'mysql://user:password@host/database, mariadb://user:password@host/database'

/** Matches `name=value …` with a known name. Other texts with a = may be secrets. */
const KEYWORDS = /^(?=\s*[a-z_]+\s*=)(?:.*\s)?(?:host|hostaddr|port|dbname|user|password)\s*=/is

/**
 * Parses a `DB_URL`.
 * @throws Error that says what is wrong. It does not quote the value, which may hold a password.
 */
export function parseDbUrl(text: string): DbUrl {
  if (KEYWORDS.test(text)) return { engine: 'postgres', target: parsePostgresKeywords(text) }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase()
  switch (scheme) {
    case undefined:
      throw new Error('has no scheme')
    case 'sqlite':
      return { engine: 'sqlite', path: parseSqlitePath(text) }
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

/**
 * Reads a file that holds a `DB_URL`. `latestTarget` reads it again.
 * @throws Error that says what is wrong, without the path or the content: a path may be a password by mistake.
 */
export function readDbUrlFile(path: string): DbUrl {
  const dbUrl = parseFile(path)
  return dbUrl.engine === 'sqlite' ? dbUrl : { ...dbUrl, file: path }
}

/**
 * The target of a new connection: the same as at the start, or what the file says now.
 * @throws StoreUnavailable
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

/** @returns the URL for messages, without the password and the parameters. The path of a file is absolute. */
export function describeDbUrl(dbUrl: DbUrl): string {
  if (dbUrl.engine === 'sqlite') return `sqlite:${resolve(dbUrl.path)}`
  const { engine, target } = dbUrl
  const socket = 'socket' in target ? target.socket : undefined
  const user = target.user ?? (engine === 'postgres' ? process.env.PGUSER : undefined)
  const hosts = target.hosts.map(({ host = 'localhost', port }) => {
    const name = isIPv6(host) ? `[${host}]` : encodeURIComponent(host)
    return port === undefined ? name : `${name}:${port}`
  })
  const account = user === undefined ? '' : `${encodeURIComponent(user)}@`
  const server = socket === undefined ? hosts.join() : encodeURIComponent(socket)
  return `${engine}://${account}${server}/${encodeURIComponent(databaseOf(dbUrl) ?? '')}`
}

/** The name of the database, as libpq finds it. */
function databaseOf({ target }: { readonly target: PostgresTarget | MysqlTarget }): string | undefined {
  return target.database ?? process.env.PGDATABASE ?? target.user
}

/** sqlite:relative, sqlite:/absolute, and the URL forms sqlite://relative and sqlite:///absolute. */
function parseSqlitePath(text: string): string {
  const path = text
    .slice('sqlite:'.length)
    .replace(/^\/\//, '')
    // A drive of Windows, as in sqlite:///C:/books.db.
    .replace(/^\/(?=[a-z]:)/i, '')
  if (path === '') throw new Error('names no file')
  if (path === ':memory:') throw new Error('names no file, and a catalogue in memory would lose its books')
  refuseShellPath(path)
  if (path.includes('?') || path.includes('\0')) throw new Error('has options after the path')
  return path
}
