import { objectSchema, type Schema } from '../../catalogue/json-schema.ts'
import type { Statistics } from '../../catalogue/store.ts'
import { envelope, failure, success } from '../envelope.ts'
import type { Services } from '../services.ts'
import { describeEndpoint, type Endpoint } from './endpoint-schema.ts'
import { FilterParameters, queryOptions, readFilterRequest } from './list-parameters.ts'

const count: Schema = { type: 'integer', minimum: 1 }

const BookStatistics = objectSchema<Statistics>(
  {
    decades: {
      type: 'array',
      items: objectSchema<Statistics['decades'][number]>({
        decade: { type: 'integer', description: 'The first year of the decade.' },
        books: count,
      }),
      description: 'The decades in ascending order. If there are more than 200, the 200 with the most books.',
    },
    authors: {
      type: 'array',
      items: objectSchema<Statistics['authors'][number]>({ author: { type: 'string' }, books: count }),
      description:
        'The 20 authors with the most books. Authors are distinguished by their first 250 characters.',
    },
  },
  {
    $id: 'BookStatistics',
    examples: [
      { decades: [{ decade: 1970, books: 1 }], authors: [{ author: 'Octavia E. Butler', books: 1 }] },
    ],
  },
)

/** GET /books/statistics */
export function countBooks({ books }: Services): Endpoint {
  return {
    schema: describeEndpoint({
      id: 'countBooks',
      summary: 'Count all books, or a selection of them, by decade and by author',
      description: 'The decades are in chronological order, and the authors are the 20 with the most books.',
      query: FilterParameters,
      success: success.statisticsRetrieved,
      data: BookStatistics,
      headers: ['X-Search-Index'],
      readsOnly: true,
      failures: [failure.invalidQueryParameter],
    }),
    handler: async (request, reply) => {
      const filter = readFilterRequest(request)
      const data = await books.store.statistics(filter, queryOptions(request, reply))
      return envelope(success.statisticsRetrieved, data)
    },
  }
}
