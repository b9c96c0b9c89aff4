import type { Auth } from '../auth/auth.ts'
import type { LoginLimit } from '../auth/login-throttle.ts'
import type { Store } from '../catalogue/store.ts'
import type { Cursors } from './page-cursor.ts'

/** A store that is still being opened while the service already listens. */
export interface OpeningStore {
  /** Must not be used before it is open. The gate waits for that. */
  readonly store: Store
  /**
   * @returns undefined if the store is open already, or else a promise that waits for it.
   * @throws StoreUnavailable if that takes too long or fails.
   */
  opened(): Promise<unknown> | undefined
}

export interface Services {
  readonly books: OpeningStore
  readonly auth: Auth
  readonly loginLimit: LoginLimit
  readonly cursors: Cursors
  readonly importTurns: ImportTurns
  /** The maximum size of an imported file, in bytes. */
  readonly importLimit: number
}

/** Lets one import run at a time. With several threads the main thread decides, so the results are promises. */
export interface ImportTurns {
  /** @returns whether an import may begin now. */
  begin(): boolean | Promise<boolean>
  /** Must be called before the import is answered: its client may send the next one at once. */
  end(): void | Promise<void>
}

/** Decides for all imports of the process. */
export class ImportTurn implements ImportTurns {
  #owner: object | undefined

  /** @param owner the thread whose import it is, if there are several. */
  begin(owner: object = this): boolean {
    if (this.#owner !== undefined) return false
    this.#owner = owner
    return true
  }

  /** Does nothing if another owner has the turn. */
  end(owner: object = this): void {
    if (this.#owner === owner) this.#owner = undefined
  }
}
