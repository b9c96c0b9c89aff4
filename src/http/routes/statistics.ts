import { objectSchema, type Schema } from '../../catalogue/json-schema.ts'
import type { Statistics } from '../../catalogue/store.ts'

const count: Schema = { type: 'integer', minimum: 1 }

/** What the books of a catalogue are, at a glance. */
export const BookStatistics = objectSchema<Statistics>(
  {
    decades: {
      type: 'array',
      items: objectSchema<Statistics['decades'][number]>({
        decade: { type: 'integer', description: 'Its first year.' },
        books: count,
      }),
      description: 'In their order; of more than 200 those with the most books.',
    },
    authors: {
      type: 'array',
      items: objectSchema<Statistics['authors'][number]>({ author: { type: 'string' }, books: count }),
      description: 'The 20 with the most books, told apart by their first 500 characters.',
    },
  },
  {
    $id: 'BookStatistics',
    examples: [
      { decades: [{ decade: 1970, books: 1 }], authors: [{ author: 'Octavia E. Butler', books: 1 }] },
    ],
  },
)
