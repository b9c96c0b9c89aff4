import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertInvalidQuery, assertResponse, targets } from './client.ts'
import { useSession } from './session.ts'

interface Statistics {
  readonly decades: readonly { readonly decade: number; readonly books: number }[]
  readonly authors: readonly { readonly author: string; readonly books: number }[]
}

for (const target of targets()) {
  describe(`decisions: counts (${target.name})`, () => {
    const session = useSession(target)
    const count = (query: string) => session.call<Statistics>('GET', `/books/statistics?${query}`)

    it('books are counted by decade and by author, also before our era', async () => {
      const author = `Tester ${crypto.randomUUID()}`
      for (const year of [1970, 1979, 1980, 0, -1, -10, -11]) await session.create({ author, year })
      const reply = await count(new URLSearchParams({ author }).toString())
      assertResponse(reply, 200, 'Statistics retrieved successfully')
      assert.deepEqual(reply.body.data, {
        decades: [
          { decade: -20, books: 1 },
          { decade: -10, books: 2 },
          { decade: 0, books: 1 },
          { decade: 1970, books: 2 },
          { decade: 1980, books: 1 },
        ],
        authors: [{ author, books: 7 }],
      })
    })

    it('the filters are those of the list; nothing is counted where nothing is found', async () => {
      const query = new URLSearchParams({ author: crypto.randomUUID(), year_min: '1', year_max: '2', q: 'x' })
      for (const nothing of [query.toString(), 'q=...'])
        assertResponse(await count(nothing), 200, 'Statistics retrieved successfully', {
          decades: [],
          authors: [],
        })
    })

    it('everything else is 400', async () => {
      for (const query of [
        'limit=1',
        'sort=year',
        'count=true',
        'after=x',
        'x=1',
        'year=x',
        'q=+',
        'q=a&q=b',
      ])
        assertInvalidQuery(await count(query), /limit|sort|count|after|x|year|q/)
    })

    it('a token is needed', async () => {
      const reply = await session.call('GET', '/books/statistics', { token: 'x' })
      assertResponse(reply, 401, 'Invalid token', null)
    })
  })
}
