import { describe, it } from 'node:test'
import { assertInvalidQuery, targets } from './client.ts'
import { useSession } from './session.ts'

for (const target of targets())
  describe(`decisions: counts (${target.name})`, () => {
    const session = useSession(target)
    const expectCounts = (query: string, decades: object[], authors: object[]) =>
      session.expect('GET', `/books/statistics?${query}`, {}, 200, 'Statistics retrieved successfully', {
        decades,
        authors,
      })

    it('books are counted by decade and by author, also before our era; the filters are those of the list', async () => {
      const author = `x${crypto.randomUUID()}`
      for (const year of [1970, 1979, 1980, 0, -1, -10, -11]) await session.create({ author, year })
      const decades = [
        { decade: -20, books: 1 },
        { decade: -10, books: 2 },
        { decade: 0, books: 1 },
        { decade: 1970, books: 2 },
        { decade: 1980, books: 1 },
      ]
      await expectCounts(`author=${author}`, decades, [{ author, books: 7 }])
      const later = `author=${author}&year_min=1&year_max=1979&q=darkness`
      await expectCounts(later, decades.slice(3, 4), [{ author, books: 2 }])
      for (const nothing of [`author=${author}&title=T`, `author=${author}&year=1`, 'q=...'])
        await expectCounts(nothing, [], [])
    })

    for (const query of ['limit=1', 'sort=year', 'count=true', 'after=x', 'x=1', 'year=x', 'q=+', 'q=a&q=b'])
      it(`everything else is 400: ${query}`, async () =>
        assertInvalidQuery(await session.call('GET', `/books/statistics?${query}`)))

    it('a token is needed', async () => {
      await session.expect('GET', '/books/statistics', { token: 'x' }, 401, 'Invalid token')
    })
  })
