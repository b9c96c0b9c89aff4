import type { Auth } from '../auth/auth.ts'
import type { LoginLimit } from '../auth/login-throttle.ts'
import type { Store } from '../catalogue/store.ts'
import type { ImportTurns } from './import-turn.ts'
import type { Cursors } from './page-cursor.ts'

/** The store of a service that listens before it is open. */
export interface OpeningStore {
  /** Must not be used before it is open. The gate waits for that. */
  readonly store: Store
  /**
   * @returns a promise for the moment when the store is open, or undefined if it is open already.
   * @throws StoreUnavailable after a time, or if the store cannot be opened.
   */
  opened(): Promise<unknown> | undefined
}

/** What the endpoints use. */
export interface Services {
  readonly books: OpeningStore
  readonly auth: Auth
  readonly loginLimit: LoginLimit
  readonly cursors: Cursors
  readonly importTurns: ImportTurns
  /** The largest file of books that can be imported, in bytes. */
  readonly importLimit: number
}
