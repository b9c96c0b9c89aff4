import { setTimeout as sleep } from 'node:timers/promises'
import { FIELD_NAMES, isNullable, isTextField } from '../../catalogue/book.ts'
import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { describeError } from '../../errors.ts'
import type { ErrorMeaning } from './errors.ts'
import type { Runner } from './pool.ts'

/** A column as the server describes it. */
export interface Column {
  readonly name: string
  readonly type: string
  /** Whether it gets a value by itself. MySQL has 0 or 1 for this and the next one. */
  readonly generated: boolean | number
  /** Whether a row cannot be added without a value for it. */
  readonly required: boolean | number
}

/** A type of columns. */
interface ColumnType {
  readonly sql: string
  /** The types that serve as well in a table that others made, as the server describes them. The best one is the first. */
  readonly accepted: readonly string[]
}

/** A column of the table of books. */
interface BookColumn extends ColumnType {
  readonly name: string
  readonly isNullable: boolean
}

/** The columns of the table of books. */
export function bookColumnsOf({
  id,
  text,
  integer,
}: Readonly<Record<'id' | 'text' | 'integer', ColumnType>>): readonly BookColumn[] {
  const fields = FIELD_NAMES.map((name) => {
    const { sql, accepted } = isTextField(name) ? text : integer
    return isNullable(name)
      ? { name, sql, accepted, isNullable: true }
      : { name, sql: `${sql} NOT NULL`, accepted, isNullable: false }
  })
  return [{ name: 'id', isNullable: false, ...id }, ...fields]
}

/** What the service adds to the database beside the table of books, such as an index. */
export interface SchemaObject {
  readonly name: string
  readonly sql: string
}

/** Objects that are only useful together. */
export interface SchemaGroup {
  /** What follows if one is missing, for messages. */
  readonly without: string
  readonly objects: readonly SchemaObject[]
}

/** How an engine reads and changes the schema. */
export interface SchemaEditor<Connection> {
  /** The columns of the table of books; none if there is no table. */
  columns(connection: Connection): Promise<Column[]>
  /** The names of the objects that exist. */
  objects(connection: Connection): Promise<string[]>
  execute(connection: Connection, sql: string): Promise<unknown>
  meaningOf(error: unknown): ErrorMeaning
  administration(connection: Connection): Promise<Administration>
}

/** What an administrator can do for the account of the service: statements, each with a semicolon. */
export interface Administration {
  readonly database: string
  /** Lets the account create tables, and use them. */
  readonly create: string
  /** Lets the account use the table of books. */
  readonly use: string
  /** What statements for the table need before them, to find it; and after them, for the account to use what they made. */
  readonly around: readonly [before: string, after: string]
}

/** Whether the table has so many books that writes would wait long while it is changed or indexed. */
export const IS_LARGE = '(SELECT COUNT(*) > 10000 FROM (SELECT 1 FROM books LIMIT 10001) counted)'

/** How long to try to create the table while others do so, in milliseconds. */
const TABLE_TIME = 2000

/** How long to try to add an object while others do so, in milliseconds. */
const OBJECT_TIME = 300_000

/** How long all objects may take, for a large table; milliseconds. */
const OBJECTS_TIME = 3600_000

/** The start tells the operator what it is doing after so many milliseconds. */
const SILENT_TIME = 2000

/** How often at least. A process that stood still finds its time over after the first. */
const LEAST_ATTEMPTS = 5

/** The longest wait after the first lost race, in milliseconds. It doubles with each further one. */
const INTERVAL = 50

/** The longest wait after any lost race, in milliseconds. */
const LONGEST_INTERVAL = 5000

/**
 * Creates the table of books unless there is one, which is then used as it is. Columns that may be NULL are added to a
 * table of an earlier version, whose instances can go on beside this one. Safe when many instances start at once, and
 * without advisory locks, which not every compatible server has.
 * @param options of the table.
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
 * Adds the objects that are missing, each in one step. Safe when many instances start at once. If the server or the
 * account does not allow it, the service does without, and the operator is told how an administrator can add them.
 * @returns for each group whether all of its objects are there.
 * @throws StoreUnavailable if the server is not ready.
 */
export async function ensureObjects<Connection>(
  runner: Runner<Connection>,
  editor: SchemaEditor<Connection>,
  groups: readonly SchemaGroup[],
  report: (message: string) => void,
): Promise<boolean[]> {
  const results: boolean[] = []
  const faults: string[] = []
  const forAdministrator: SchemaObject[] = []
  for (const { without, objects } of groups) {
    try {
      const time = { time: OBJECTS_TIME, isRepeatable: false }
      await runner.run((connection) => addMissing(connection, editor, objects, report), time)
      results.push(true)
    } catch (error) {
      const cause = error instanceof StoreUnavailable ? error.cause : error
      const { isNotReady, reason } = editor.meaningOf(cause)
      if (cause === undefined || isNotReady) throw error
      results.push(false)
      faults.push(`${without} (${describeError(cause)})`)
      // The account lacks a right, or the server is read-only. What it refuses to everybody is no help.
      if (reason === 'read_only') forAdministrator.push(...objects)
    }
  }
  if (faults.length === 0) return results
  const existing = await runner.run(editor.objects)
  const missing = forAdministrator.filter(({ name }) => !existing.includes(name))
  if (missing.length === 0) report(faults.join('; '))
  else {
    const administration = await runner.run(editor.administration)
    const [before, after] = administration.around
    const statements = missing.map(({ sql }) => `${sql.replace(/\s+/g, ' ').trim()};`)
    report(advice(faults.join('; '), administration, before, ...statements, after))
  }
  return results
}

/** What is wrong, and what an administrator can do about it. */
export const advice = (what: string, { database }: Administration, ...statements: readonly string[]) =>
  `${what}. An administrator can run this in the database ${database}, and start the service again: ${statements.filter((sql) => sql !== '').join(' ')}`

async function addMissing<Connection>(
  connection: Connection,
  { objects, execute, meaningOf }: SchemaEditor<Connection>,
  wanted: readonly SchemaObject[],
  report: (message: string) => void,
): Promise<void> {
  const notice = setTimeout(
    () => report('adding indexes to the table books, during which writes may have to wait'),
    SILENT_TIME,
  )
  try {
    await retryLostRaces(meaningOf, OBJECT_TIME, async () => {
      const existing = await objects(connection)
      for (const { name, sql } of wanted) if (!existing.includes(name)) await execute(connection, sql)
    })
  } finally {
    clearTimeout(notice)
  }
}

/**
 * Repeats work that failed because other instances did the same, with growing intervals: whoever waits for the lock
 * of a table keeps all others from reading it.
 * @param time in milliseconds, unless it is over after few attempts.
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

/** What the service does with the table of books, and needs the right to. */
export const WRITES = ['INSERT', 'UPDATE', 'DELETE'] as const
export const RIGHTS = ['SELECT', ...WRITES] as const
export type Right = (typeof RIGHTS)[number]

/** Whether an account that lacks these rights can write nothing at all. */
export const writesNothing = (lacked: readonly Right[]) => WRITES.every((right) => lacked.includes(right))

/**
 * Checks which rights on the table of books the account has.
 * @param report is told of rights whose lack leaves some requests that can be served.
 * @param readsOnly whether it need not write.
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
  if (lacked.includes('SELECT')) throw new StoreNotOpened(advice(what, administration, administration.use))
  if (writesNothing(lacked)) {
    const instead = ' (for an instance that only reads, DB_URL needs target_session_attrs=any)'
    throw new StoreNotOpened(advice(`${what}${instead}`, administration, administration.use))
  }
  report(advice(`${what}: such requests are answered with 503`, administration, administration.use))
}
