import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { describeEndpoint } from './api-schema.ts'
import { envelope, failure, success } from './envelope.ts'
import { FilterParameters, parseFilter } from './list-request.ts'
import { queryStringOf } from './query-string.ts'
import { announceIncomplete } from './search-index.ts'
import { BookStatistics } from './statistics.ts'
import type { Store } from './store/store.ts'

/** GET /books/statistics: the books that a filter lets through, counted by the store. */
export function registerStatistics(
  app: FastifyInstance,
  store: Store,
  authenticated: onRequestHookHandler,
): void {
  app.get('/books/statistics', {
    schema: describeEndpoint({
      id: 'countBooks',
      summary: 'Count the books by decade and by author; all, or those that are asked for',
      query: FilterParameters,
      success: success.statisticsRetrieved,
      data: BookStatistics,
      indexed: true,
      failures: [failure.invalidQueryParameter],
    }),
    onRequest: authenticated,
    handler: async ({ originalUrl, signal }, reply) => {
      const filter = parseFilter(queryStringOf(originalUrl))
      const options = { signal, onIncomplete: () => announceIncomplete(reply) }
      const { decades, authors } = await store.statistics(filter, options)
      return envelope(success.statisticsRetrieved, { decades: [...decades], authors: [...authors] })
    },
  })
}
