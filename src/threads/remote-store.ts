import type { BirpcReturn } from 'birpc'
import type { Book, BookChanges, NewBook } from '../catalogue/book.ts'
import { receivedPage, type SentPage, sentPage } from '../catalogue/page.ts'
import type { BookFilter, BookQuery, Position } from '../catalogue/query.ts'
import type {
  Imported,
  ImportedBook,
  ImportOptions,
  Page,
  PageBounds,
  QueryOptions,
  Statistics,
  Store,
} from '../catalogue/store.ts'

/** A group of books to import; undefined after the last one. */
export type Group = readonly ImportedBook[] | undefined

/** The result of a query, and whether it is incomplete (`QueryOptions.onIncomplete`). */
interface Answer<Result> {
  readonly result: Result
  readonly isIncomplete: boolean
}

type CancellableCall<Args extends unknown[], Result> = (
  call: number,
  ...args: Args
) => Promise<Answer<Result>>

/** Its first argument is who asks. */
type Query<Args extends unknown[], Result> = CancellableCall<[client: string | undefined, ...Args], Result>

/** What one thread does with its store for another one. Calls that can be cancelled have numbers. */
export interface StoreCalls {
  create: Store['create']
  update: Store['update']
  delete: Store['delete']
  ready: Store['ready']
  page: Query<[BookQuery, Position | undefined, PageBounds], SentPage>
  count: Query<[BookFilter], number>
  statistics: Query<[BookFilter], Statistics>
  /** Asks for the groups one after the other. */
  import: CancellableCall<[ImportOptions], Imported>
  cancel(call: number): void
}

/** The calls as functions of the other thread. */
type RemoteCalls = Pick<BirpcReturn<StoreCalls>, keyof StoreCalls>

/** The calls of another thread, as this one serves them. */
interface ServedStore {
  readonly calls: StoreCalls
  /** Cancels all calls that can be cancelled, and waits for their end. */
  cancelAll(): Promise<void>
}

/**
 * Serves the calls of another thread.
 * @param nextGroup asks that thread for the next group of an import.
 */
export function serveStore(store: Store, nextGroup: (call: number) => Promise<Group>): ServedStore {
  const running = new Map<number, { readonly controller: AbortController; readonly work: Promise<unknown> }>()

  function run<Result>(
    call: number,
    begin: (options: { signal: AbortSignal; onIncomplete: () => void }) => Promise<Result>,
  ): Promise<Answer<Result>> {
    const controller = new AbortController()
    let isIncomplete = false
    const onIncomplete = () => {
      isIncomplete = true
    }
    const work = begin({ signal: controller.signal, onIncomplete })
      .then((result) => ({ result, isIncomplete }))
      .finally(() => running.delete(call))
    running.set(call, { controller, work })
    return work
  }

  async function* groups(call: number): AsyncGenerator<readonly ImportedBook[], void> {
    for (let group = await nextGroup(call); group !== undefined; group = await nextGroup(call)) yield group
  }

  return {
    calls: {
      create: (book) => store.create(book),
      update: (...change) => store.update(...change),
      delete: (...book) => store.delete(...book),
      ready: () => store.ready(),
      page: (call, client, ...query) =>
        run(call, async (options) => sentPage(await store.page(...query, { ...options, client }))),
      count: (call, client, filter) => run(call, (options) => store.count(filter, { ...options, client })),
      statistics: (call, client, filter) =>
        run(call, (options) => store.statistics(filter, { ...options, client })),
      import: (call, options) =>
        run(call, ({ signal }) => store.import(groups(call), { ...options, signal })),
      cancel: (call) => running.get(call)?.controller.abort(),
    },
    cancelAll: async () => {
      const all = [...running.values()]
      for (const { controller } of all) controller.abort()
      await Promise.allSettled(all.map(({ work }) => work))
    },
  }
}

/** The operations of a store that another thread does for this one. */
export class RemoteStore implements Pick<Store, Exclude<keyof StoreCalls, 'cancel'>> {
  readonly #remote: RemoteCalls
  #lastCall = 0
  /** Functions that read the next group of each import. */
  readonly #sources = new Map<number, () => Promise<Group>>()

  constructor(remote: RemoteCalls) {
    this.#remote = remote
  }

  create(book: NewBook): Promise<Book> {
    return this.#remote.create(book)
  }

  update(id: number, changes: BookChanges, expected?: Book): Promise<Book | undefined> {
    return this.#remote.update(id, changes, expected)
  }

  delete(id: number, expected?: Book): Promise<boolean> {
    return this.#remote.delete(id, expected)
  }

  ready(): Promise<void> {
    return this.#remote.ready()
  }

  async page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options?: QueryOptions,
  ): Promise<Page> {
    const ask = (call: number) => this.#remote.page(call, options?.client, query, after, bounds)
    return receivedPage(await this.#cancellable(ask, options))
  }

  count(filter: BookFilter, options?: QueryOptions): Promise<number> {
    return this.#cancellable((call) => this.#remote.count(call, options?.client, filter), options)
  }

  statistics(filter: BookFilter, options?: QueryOptions): Promise<Statistics> {
    return this.#cancellable((call) => this.#remote.statistics(call, options?.client, filter), options)
  }

  async import(
    groups: AsyncIterable<readonly ImportedBook[]>,
    { signal, ...options }: ImportOptions = {},
  ): Promise<Imported> {
    const iterator = groups[Symbol.asyncIterator]()
    let failure: { readonly error: unknown } | undefined
    const read = async () => {
      try {
        const { done, value } = await iterator.next()
        return done ? undefined : value
      } catch (error) {
        failure = { error }
        throw error
      }
    }
    const importing = (call: number) => {
      this.#sources.set(call, read)
      return this.#remote.import(call, options).finally(() => this.#sources.delete(call))
    }
    try {
      return await this.#cancellable(importing, { signal })
    } catch (error) {
      // The error of the groups, which lost its class on its way to the other thread and back.
      throw failure?.error ?? error
    } finally {
      await iterator.return?.()
    }
  }

  /** The other thread asks for the next group of an import. */
  async nextGroup(call: number): Promise<Group> {
    const read = this.#sources.get(call)
    // Without an error, the import would take this for the end of the file.
    if (read === undefined) throw new Error('the import has ended')
    return read()
  }

  async #cancellable<Result>(
    send: (call: number) => Promise<Answer<Result>>,
    { signal, onIncomplete }: QueryOptions = {},
  ): Promise<Result> {
    signal?.throwIfAborted()
    const call = ++this.#lastCall
    const cancel = () => void this.#remote.cancel.asEvent(call)
    signal?.addEventListener('abort', cancel)
    try {
      const { result, isIncomplete } = await send(call)
      if (isIncomplete) onIncomplete?.()
      return result
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', cancel)
    }
  }
}
