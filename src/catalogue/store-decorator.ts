import type { Store } from './store.ts'

/** The methods of a store that read or write books. */
export type Operation = Exclude<keyof Store, 'load' | 'close'>

/**
 * Calls an operation of a store.
 * @param call may be called once, with the store to use.
 */
export type Around = <Result>(
  operation: Operation,
  call: (store: Store) => Promise<Result>,
) => Promise<Result>

/**
 * A store whose operations all pass through one function.
 * @param others the methods that are not operations.
 */
export function decorateStore(around: Around, others: Pick<Store, 'load' | 'close'>): Store {
  return {
    create: (book) => around('create', (store) => store.create(book)),
    find: (id) => around('find', (store) => store.find(id)),
    page: (...query) => around('page', (store) => store.page(...query)),
    count: (...query) => around('count', (store) => store.count(...query)),
    statistics: (...query) => around('statistics', (store) => store.statistics(...query)),
    update: (...change) => around('update', (store) => store.update(...change)),
    delete: (...book) => around('delete', (store) => store.delete(...book)),
    import: (...books) => around('import', (store) => store.import(...books)),
    ready: () => around('ready', (store) => store.ready()),
    load: () => others.load(),
    close: () => others.close(),
  }
}
