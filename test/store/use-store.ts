import { after, afterEach, before, beforeEach } from 'node:test'
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

/** To be called in a `describe`: gives each test there an empty store of its own. */
export const useStore = (open: () => Promise<TestStore>) => useStoreOf(open, beforeEach, afterEach)

/** To be called in a `describe`: gives the tests there one store, with the books of the tests before. */
export const useSharedStore = (open: () => Promise<TestStore>) => useStoreOf(open, before, after)

function useStoreOf(
  open: () => Promise<TestStore>,
  begin: (hook: () => Promise<void>) => void,
  end: (hook: () => Promise<void>) => void,
): StoreInUse {
  let opened: TestStore
  let store: Store
  begin(async () => {
    opened = await open()
    store = opened.store
  })
  end(() => opened.remove())
  return {
    get store() {
      return store
    },
    async reopen() {
      store = await opened.reopen()
    },
  }
}
