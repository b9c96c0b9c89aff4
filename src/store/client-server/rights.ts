import { StoreNotOpened } from '../../catalogue/store.ts'
import { type Administration, advice } from './ensure-schema.ts'

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
