import { setTimeout as sleep } from 'node:timers/promises'
import { FIELD_NAMES, isNullable, isTextField } from '../../catalogue/book.ts'
import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { describeError } from '../../errors.ts'
import type { ErrorMeaning } from './errors.ts'
import type { ConnectionPool } from './pool.ts'

/** A column as the server describes it. */
export interface Column {
  readonly name: string
  readonly type: string
  /** Whether the server gives it a value. MySQL has 0 or 1, here and in `required`. */
  readonly generated: boolean | number
  /** Whether a row cannot be inserted without a value for it. */
  readonly required: boolean | number
}

interface ColumnType {
  readonly sql: string
  /** The types that also suit in a table that others made, as the server names them. The best one is first. */
  readonly accepted: readonly string[]
}

interface BookColumn extends ColumnType {
  readonly name: string
  readonly isNullable: boolean
}

export function bookColumnsOf({
  id,
  text,
  integer,
}: Readonly<Record<'id' | 'text' | 'integer', ColumnType>>): readonly BookColumn[] {
  const fields = FIELD_NAMES.map((name) => {
    const { sql, accepted } = isTextField(name) ? text : integer
    const mayBeNull = isNullable(name)
    return { name, sql: mayBeNull ? sql : `${sql} NOT NULL`, accepted, isNullable: mayBeNull }
  })
  return [{ name: 'id', isNullable: false, ...id }, ...fields]
}

/** What the service adds to the database besides the table of books, such as an index. */
export interface SchemaObject {
  readonly name: string
  readonly sql: string
}

/** Objects that are only useful together. */
export interface SchemaGroup {
  /** The consequence if one is missing, for messages. */
  readonly without: string
  readonly objects: readonly SchemaObject[]
}

export interface SchemaEditor<Connection> {
  /** The columns of the table of books; none if there is no table. */
  columns(connection: Connection): Promise<Column[]>
  objects(connection: Connection): Promise<string[]>
  execute(connection: Connection, sql: string): Promise<unknown>
  meaningOf(error: unknown): ErrorMeaning
  administration(connection: Connection): Promise<Administration>
}

/** Statements with which an administrator can help the account of the service. Each ends with a semicolon. */
export interface Administration {
  readonly database: string
  /** Lets the account create and use tables. */
  readonly create: string
  /** Lets the account use the table of books. */
  readonly use: string
  /** What to run before a change of the table, to find it, and after, to let the account use what was made. */
  readonly around: readonly [before: string, after: string]
}

/** Whether the table is so large that writes would wait long while it is changed or indexed. */
export const IS_LARGE = '(SELECT COUNT(*) > 10000 FROM (SELECT 1 FROM books LIMIT 10001) counted)'

/** How long to try to create the table, and the objects of a group, while other instances do so; in milliseconds. */
const TABLE_TIME = 2000
const RACE_TIME = 300_000

/** How long the objects of a group may take in all, in milliseconds. An index of a large table takes long. */
const GROUP_TIME = 3600_000

/** After this many milliseconds, the operator is told what the start is doing. */
const SILENT_TIME = 2000

/** Attempts that are made in any case. A start that stood still in its first one used to end with a duplicate key. */
const LEAST_ATTEMPTS = 5

/** The longest waits after the first lost race, and after any; in milliseconds. It doubles with each further one. */
const INTERVAL = 50
const LONGEST_INTERVAL = 5000

/**
 * Creates the table of books. One that exists is used as it is, and only gets the nullable columns that it lacks, so
 * that instances of an earlier version can go on beside this one. Safe when many instances start at once, and without
 * advisory locks, which not every compatible server has.
 * @param options what follows the columns in CREATE TABLE.
 * @throws StoreNotOpened if there is a table that cannot hold every book; else what the server reports.
 */
export async function ensureTable<Connection>(
  connection: Connection,
  { columns, execute, meaningOf, administration }: SchemaEditor<Connection>,
  wanted: readonly BookColumn[],
  options = '',
): Promise<void> {
  const definition = ({ name, sql }: BookColumn) => `${name} ${sql}`
  const create = `CREATE TABLE IF NOT EXISTS books (${wanted.map(definition).join(', ')}) ${options}`
  let additions: string[] = []
  await retryLostRaces(meaningOf, TABLE_TIME, async () => {
    const existing = (await columns(connection)).map(({ name }) => name)
    if (existing.length === 0) return await execute(connection, create)
    additions = wanted
      .filter(({ name, isNullable }) => isNullable && !existing.includes(name))
      .map((column) => `ALTER TABLE books ADD COLUMN ${definition(column)}`)
    for (const sql of additions) await execute(connection, sql)
    return undefined
  }).catch(async (cause: unknown) => {
    if (!meaningOf(cause).isDenied) throw cause
    const administrator = await administration(connection)
    const { create: grant, around } = administrator
    const statements = additions.length === 0 ? [grant] : [around[0], ...additions.map((sql) => `${sql};`)]
    throw new Error(advice(describeError(cause), administrator, ...statements), { cause })
  })
  checkColumns(await columns(connection), wanted)
}

/**
 * Adds missing objects, each in one step. Safe when many instances start at once. If the server refuses one, or the
 * account lacks a right, the service does without, and the operator is told how an administrator can add it.
 * @returns for each group whether all of its objects are there.
 * @throws StoreUnavailable if the server is not ready.
 */
export async function ensureObjects<Connection>(
  pool: ConnectionPool<Connection>,
  editor: SchemaEditor<Connection>,
  groups: readonly SchemaGroup[],
  report: (message: string) => void,
): Promise<boolean[]> {
  async function addMissing(connection: Connection, wanted: readonly SchemaObject[]): Promise<void> {
    const message = 'adding indexes to the table books, during which writes may have to wait'
    const notice = setTimeout(() => report(message), SILENT_TIME)
    await retryLostRaces(editor.meaningOf, RACE_TIME, async () => {
      const existing = await editor.objects(connection)
      for (const { name, sql } of wanted) if (!existing.includes(name)) await editor.execute(connection, sql)
    }).finally(() => clearTimeout(notice))
  }

  const results: boolean[] = []
  const faults: string[] = []
  const forAdministrator: SchemaObject[] = []
  for (const { without, objects } of groups) {
    try {
      await pool.run((connection) => addMissing(connection, objects), {
        time: GROUP_TIME,
        isRepeatable: false,
      })
      results.push(true)
    } catch (error) {
      const cause = error instanceof StoreUnavailable ? error.cause : error
      const { isNotReady, reason } = editor.meaningOf(cause)
      if (cause === undefined || isNotReady) throw error
      results.push(false)
      faults.push(`${without} (${describeError(cause)})`)
      // The account lacks a right, or the server is read-only. Otherwise it would refuse an administrator, too.
      if (reason === 'read_only') forAdministrator.push(...objects)
    }
  }
  if (faults.length === 0) return results
  const existing = await pool.run(editor.objects)
  const missing = forAdministrator.filter(({ name }) => !existing.includes(name))
  if (missing.length === 0) report(faults.join('; '))
  else {
    const administration = await pool.run(editor.administration)
    const [before, after] = administration.around
    const statements = missing.map(({ sql }) => `${sql.replace(/\s+/g, ' ').trim()};`)
    report(advice(faults.join('; '), administration, before, ...statements, after))
  }
  return results
}

export const advice = (what: string, { database }: Administration, ...statements: readonly string[]) =>
  `${what}. An administrator can run this in the database ${database}, and start the service again: ${statements.filter((sql) => sql !== '').join(' ')}`

/**
 * Repeats work that failed because other instances did the same. The intervals grow, because a statement that waits for
 * the lock of the table keeps all others from reading it.
 * @param time in milliseconds; longer if it is over before LEAST_ATTEMPTS.
 */
async function retryLostRaces(
  meaningOf: (error: unknown) => ErrorMeaning,
  time: number,
  work: () => Promise<unknown>,
): Promise<unknown> {
  const end = Date.now() + time
  let interval = INTERVAL
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!meaningOf(error).isLostRace || (attempt >= LEAST_ATTEMPTS && Date.now() >= end)) throw error
    }
    await sleep(Math.random() * interval)
    interval = Math.min(2 * interval, LONGEST_INTERVAL)
  }
}

function checkColumns(columns: readonly Column[], wanted: readonly BookColumn[]): void {
  const faults = wanted.flatMap(({ name, accepted }) => {
    const column = columns.find((each) => each.name === name)
    if (column === undefined) return [`it has no column ${name}, which has to be ${accepted[0]}`]
    if (!accepted.includes(column.type)) return [`${name} is ${column.type} and has to be ${accepted[0]}`]
    return name === 'id' && !column.generated ? ['id does not get a value by itself, and has to'] : []
  })
  const names = wanted.map(({ name }) => name)
  for (const { name, required } of columns) {
    if (required && !names.includes(name)) faults.push(`${name} has no default, and has to, or to allow NULL`)
  }
  if (faults.length > 0) {
    throw new StoreNotOpened(`there is a table books that cannot be used: ${faults.join('; ')}`)
  }
}

/** The rights that the service needs on the table of books. */
const WRITES = ['INSERT', 'UPDATE', 'DELETE'] as const
export const RIGHTS = ['SELECT', ...WRITES] as const
export type Right = (typeof RIGHTS)[number]

/** Whether an account that lacks these rights can write nothing at all. */
export const writesNothing = (lacked: readonly Right[]) => WRITES.every((right) => lacked.includes(right))

/**
 * Checks the rights on the table of books.
 * @param all those that the account lacks.
 * @param report is told of missing rights without which some requests can still be served.
 * @param readsOnly whether the account need not write.
 * @throws StoreNotOpened if it can read nothing, or write nothing.
 */
export function checkRights(
  all: readonly Right[],
  administration: Administration,
  report: (message: string) => void,
  readsOnly: boolean,
): void {
  const lacked = readsOnly ? all.filter((right) => right === 'SELECT') : all
  if (lacked.length === 0) return
  const what = `the account has no right to ${lacked.join(', ')} on the table books`
  const help = (more: string) => advice(`${what}${more}`, administration, administration.use)
  if (lacked.includes('SELECT')) throw new StoreNotOpened(help(''))
  if (!writesNothing(lacked)) report(help(': such requests are answered with 503'))
  else {
    const instead = ' (for an instance that only reads, DB_URL needs target_session_attrs=any)'
    throw new StoreNotOpened(help(instead))
  }
}
