import type { Auth } from '../auth/auth.ts'
import type { LoginLimit } from '../auth/login-throttle.ts'
import type { Store } from '../catalogue/store.ts'
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

/** Lets one import run at a time. Another thread may decide. */
export interface ImportTurns {
  /** @returns whether an import may begin now. */
  begin(): boolean | Promise<boolean>
  /** Call it before the import is answered: its client may send the next one at once. */
  end(): void | Promise<void>
}

/** Decides for all imports of the process. */
export class ImportTurn implements ImportTurns {
  #owner: object | undefined

  /** @param owner whose import it is, where several have imports. */
  begin(owner: object = this): boolean {
    if (this.#owner !== undefined) return false
    this.#owner = owner
    return true
  }

  /** Has no effect if it is the turn of another one. */
  end(owner: object = this): void {
    if (this.#owner === owner) this.#owner = undefined
  }
}
