import { afterEach, beforeEach } from 'node:test'
import type { Store } from '../../src/catalogue/store.ts'

/** An engine's store over data of its own, which is empty at first. */
export interface TestStore {
  readonly store: Store
  /** Closes the store and opens another over the same data. */
  reopen(): Promise<Store>
  /** Closes the store that is open, and removes its data. */
  remove(): Promise<void>
}

/** The store of the test that runs, and its reopening. */
export interface StoreInUse {
  readonly store: Store
  reopen(): Promise<void>
}

/** To be called in a `describe`: gives each test there a store of its own. */
export function useStore(open: () => Promise<TestStore>): StoreInUse {
  let opened: TestStore
  let store: Store
  beforeEach(async () => {
    opened = await open()
    store = opened.store
  })
  afterEach(() => opened.remove())
  return {
    get store() {
      return store
    },
    async reopen() {
      store = await opened.reopen()
    },
  }
}
