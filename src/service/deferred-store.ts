import { type Store, StoreUnavailable } from '../catalogue/store.ts'
import type { OpeningStore } from '../http/services.ts'
import { withTimeout } from '../store/timeout.ts'

/** The store of a service that listens before it is open. */
export class DeferredStore implements OpeningStore {
  readonly #timeout: number
  readonly #opening = Promise.withResolvers<Store>()
  #store: Store | undefined

  /** @param timeout how long a request may wait for the store, in milliseconds. */
  constructor(timeout: number) {
    this.#timeout = timeout
    // Whoever waits reports it.
    this.#opening.promise.catch(() => {})
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error('the store is not open')
    return this.#store
  }

  /** As OpeningStore.opened. */
  opened(): Promise<Store> | undefined {
    if (this.#store !== undefined) return undefined
    return withTimeout(this.#opening.promise, this.#timeout, 'the store is being opened')
  }

  open(store: Store): void {
    this.#store = store
    this.#opening.resolve(store)
  }

  /** Refuses all who wait, and will wait, unless the store is open. */
  refuse(message: string, cause?: unknown): void {
    this.#opening.reject(new StoreUnavailable(message, { cause, nothingWritten: true }))
  }
}
