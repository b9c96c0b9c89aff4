import { setTimeout } from 'node:timers/promises'
import { StoreNotOpened } from '../../catalogue/store.ts'

/** A column as the server describes it. */
export interface Column {
  readonly name: string
  readonly type: string
  /** Whether it gets a value by itself. MySQL tells of this as 0 or 1, and so below. */
  readonly generated: boolean | number
  /** Whether a row cannot be added without a value for it. */
  readonly required: boolean | number
}

const ATTEMPTS = 20

/** How long to wait before another look at what another instance does, in milliseconds. */
const INTERVAL = 50

/**
 * Creates the table of books unless there is one, which is then taken as it stands. Safe when many instances start
 * at once, and without advisory locks, which not every compatible server has.
 * @param accepted the types that each column may have, the best first.
 * @throws StoreNotOpened when there is a table that cannot hold every book; else what the server says.
 */
export async function ensureTable(
  accepted: Readonly<Record<string, readonly string[]>>,
  table: {
    /** Those of the table that is there; none if there is no table. */
    columns(): Promise<Column[]>
    create(): Promise<unknown>
    /** Whether another instance created it at the same moment. */
    isLostRace(error: unknown): boolean
  },
): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    const columns = await table.columns()
    if (columns.length > 0) return checkColumns(columns, accepted)
    try {
      await table.create()
    } catch (error) {
      if (!table.isLostRace(error) || attempts === ATTEMPTS) throw error
      await setTimeout(INTERVAL)
    }
  }
}

function checkColumns(
  columns: readonly Column[],
  accepted: Readonly<Record<string, readonly string[]>>,
): void {
  const faults = Object.entries(accepted).flatMap(([name, types]) => {
    const column = columns.find((each) => each.name === name)
    if (column === undefined) return [`it has no column ${name}, which has to be ${types[0]}`]
    if (!types.includes(column.type)) return [`${name} is ${column.type} and has to be ${types[0]}`]
    return name === 'id' && !column.generated ? ['id does not get a value by itself, and has to'] : []
  })
  for (const { name, required } of columns) {
    if (required && !(name in accepted)) faults.push(`${name} has no default, and has to, or to allow NULL`)
  }
  if (faults.length > 0) {
    throw new StoreNotOpened(`there is a table books that cannot be used: ${faults.join('; ')}`)
  }
}
