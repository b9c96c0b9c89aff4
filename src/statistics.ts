import Type from 'typebox'

const Count = Type.Integer({ minimum: 1 })

/** What the books of a catalogue are, at a glance. */
export const BookStatistics = Type.Object(
  {
    decades: Type.Array(
      Type.Object({ decade: Type.Integer({ description: 'Its first year.' }), books: Count }),
      { description: 'In their order; of more than 200 those with the most books.' },
    ),
    authors: Type.Array(Type.Object({ author: Type.String(), books: Count }), {
      description: 'The 20 with the most books, told apart by their first 500 characters.',
    }),
  },
  {
    $id: 'BookStatistics',
    examples: [
      { decades: [{ decade: 1970, books: 1 }], authors: [{ author: 'Octavia E. Butler', books: 1 }] },
    ],
  },
)
