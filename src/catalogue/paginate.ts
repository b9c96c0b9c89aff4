import type { BookQuery, Position } from './query.ts'
import type { PageBounds, QueryOptions, Store } from './store.ts'

/** Bounds of a page that is read as a part of a longer list. */
export const PART: PageBounds = { books: 1000, text: 64 * 1024 }

/**
 * All books of a query after a position, as pages of JSON text as Store.list makes them: none is empty, and each is
 * read when it is asked for.
 * @param signal as for Store.page.
 */
export async function* walk(
  store: Pick<Store, 'page'>,
  query: BookQuery,
  after: Position | undefined,
  options?: QueryOptions,
): AsyncGenerator<string, void> {
  let position = after
  for (;;) {
    const page = await store.page(query, position, PART, options)
    if (page.last === undefined) return
    yield page.json
    if (!page.more) return
    position = page.last
  }
}
