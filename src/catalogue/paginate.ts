import type { BookQuery, Position } from './query.ts'
import type { PageBounds, QueryOptions, Store } from './store.ts'

/** Bounds of each page of a longer list. */
export const STREAM_PAGE: PageBounds = { books: 1000, text: 64 * 1024 }

/**
 * All books of a query after a position, as pages of JSON text like those of Store.list. No page is empty. Each is read
 * on demand.
 */
export async function* allPages(
  store: Pick<Store, 'page'>,
  query: BookQuery,
  after: Position | undefined,
  options?: QueryOptions,
): AsyncGenerator<string, void> {
  let position = after
  for (;;) {
    const page = await store.page(query, position, STREAM_PAGE, options)
    if (page.last === undefined) return
    yield page.json
    if (!page.more) return
    position = page.last
  }
}
