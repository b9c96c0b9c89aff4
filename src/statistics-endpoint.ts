import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import type { Store } from './catalogue/store.ts'
import { envelope, failure, success } from './http/envelope.ts'
import { queryStringOf } from './http/query-string.ts'
import { describeEndpoint } from './http/routes/endpoint-schema.ts'
import { FilterParameters, parseFilter } from './http/routes/list-parameters.ts'
import { BookStatistics } from './http/routes/statistics.ts'
import { announceIncomplete } from './http/search-index-header.ts'

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
