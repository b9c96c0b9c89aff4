import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLocked } from './connection.ts'

/** What a service holds while it uses a database file. */
export interface ServiceLock {
  /** Whether another service holds it. */
  readonly isTaken: boolean
  release(): void
}

/**
 * Tells services that use one database file of each other. Commands may use it beside them. The lock is one of SQLite's
 * own, on an empty file: it ends with the process, however that ends, and holds between containers.
 * @param path of the database file.
 */
export function lockForService(path: string): ServiceLock {
  const file = `${resolve(path)}-service`
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
