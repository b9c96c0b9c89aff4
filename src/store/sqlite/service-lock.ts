import { existsSync, realpathSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLocked } from './errors.ts'

export interface ServiceLock {
  /** Whether another service holds it. */
  readonly isTaken: boolean
  release(): void
}

/**
 * Tells a service that another one uses the same database file: writes of the two wait for each other, or are refused.
 * Commands do not take the lock. It is SQLite's own, on an empty file beside the database, so it ends with the process,
 * however that ends, and works between containers.
 */
export function lockForService(path: string): ServiceLock {
  // SQLite also resolves links, so that all names of a database lead to the same files beside it.
  const file = `${existsSync(path) ? realpathSync(path) : resolve(path)}-service`
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { timeout: 0 })
    database.exec('BEGIN EXCLUSIVE')
    const held = database
    return {
      isTaken: false,
      release() {
        rmSync(file, { force: true })
        held.close()
      },
    }
  } catch (error) {
    database?.close()
    return { isTaken: isLocked(error), release() {} }
  }
}
