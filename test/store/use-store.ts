import { afterEach, beforeEach } from 'node:test'
import type { Store } from '../../src/catalogue/store.ts'
import { activeTimers } from '../support/active-timers.ts'
import { until } from '../support/until.ts'

/** Data of an engine, which has no books at first. */
export interface TestData {
  open(): Promise<Store>
  /** Called when the store is closed. */
  remove(): unknown
}

/** The store of the test that runs, and its reopening. */
export interface StoreInUse {
  readonly store: Store
  reopen(): Promise<void>
}

/** To be called in a `describe`: gives each test there an empty store of its own. */
export function useStore(create: () => Promise<TestData>): StoreInUse {
  let data: TestData
  let store: Store
  let before: number
  beforeEach(async () => {
    data = await create()
    before = activeTimers()
    store = await data.open()
  })
  afterEach(async () => {
    await store.close()
    await until('no timer keeps a program from ending', () => activeTimers() <= before)
    await data.remove()
  })
  return {
    get store() {
      return store
    },
    async reopen() {
      await store.close()
      store = await data.open()
    },
  }
}
