import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertInvalidQuery, assertResponse, type Book, type Reply, targets } from './client.ts'
import { useSession } from './session.ts'

const words = (count: number) => Array.from({ length: count }, (_, i) => `w${i}`).join('+')

const LIMIT = 'limit must be an integer from 1 to 1000'
const YEAR = 'must be an integer from -9007199254740991 to 9007199254740991'
const SORT = 'sort must be the fields to sort by, such as `year,-title`, each at most once'
const UTF8 = 'must be percent-encoded UTF-8 without NUL'
const CURSOR = 'after must be the cursor of a Link field, with the same sort and q'
const UNKNOWN = (name: string) =>
  `there is no "${name}"; there are limit, after, count, sort, spreadsheet, q, title, author, year, year_min, year_max`

const each = (name: string, ...values: readonly string[]) => values.map((value) => `${name}=${value}`)

/** Query strings that say nothing, or something that cannot be, by what is said of them. */
const REFUSED: Record<string, readonly string[]> = {
  [LIMIT]: each('limit', '0', '1001', '', '1.5', '01'),
  [`year ${YEAR}`]: each('year', '', 'x', '1.0', '01', '-0', '%2B1', '9007199254740992'),
  [`year_min ${YEAR}`]: ['year_min=', 'year_min=0x10'],
  [`year_max ${YEAR}`]: ['year_max=x', 'year_max=-9007199254740992'],
  [SORT]: each('sort', '', 'isbn', 'title,', '--title', 'Title', 'relevance'),
  'sort names a field twice': ['sort=title,title', 'sort=title,-title', 'sort=id,id'],
  'count must be true or false': ['count=', 'count=1', 'count=TRUE'],
  'q must not be empty': ['q=', 'q=+', 'q=%E3%80%80'],
  'q must have at most 32 words': [`q=${words(33)}`],
  [CURSOR]: ['after=', 'after=x', 'after=AAAAAAAAAAAAAAAAAAAAAAAA', 'limit=5&after=null'],
  'limit is given twice': ['limit=1&limit=2', 'limit=1&limit=1', 'limit=1&li%6Dit=1'],
  'one is not written as name=value': ['limit', '&', 'limit=1&', '&limit=1'],
  [`title ${UTF8}`]: each('title', '%', '%zz', '%C3%28', '%ED%A0%80', '%00'),
  [`q ${UTF8}`]: ['q=%00a'],
  [UNKNOWN('LIMIT')]: ['LIMIT=1'],
  [UNKNOWN('toString')]: ['toString=1'],
  [UNKNOWN('off\\u{202e}set')]: ['off%E2%80%AEset=1'],
}

/** In the order of `sort=title`. */
const SORTED = [
  ...['', '???', '😀', 'A', 'a', 'a!', 'ä', 'À la carte', 'aa', 'The Abbey', 'b', 'Die', 'ete', 'été'],
  ...['L’Étranger', 'Part 9', 'Part 10', 'ß', 'The The', 'Z', 'Ω', '中'],
]

/** Titles, and the searches that find them; what finds all of them, and none. */
const FOUND: Record<string, readonly string[]> = {
  'Cien años de soledad': ['AÑO soledad', 'a', 'c'],
  "L'Étranger": ['letranger'],
  'Catch-22': ['٢٢', 'catch22', 'c'],
  Übermaß: ['ubermass'],
  百年孤独: ['孤独'],
  'Война и мир': ['ВОЙН'],
  A: ['a'],
  '백년의 고독': ['백녀 고ㄷ'],
  はじめてのPython入門: ['python', 'ハジメ'],
  الكتاب: ['كتاب'],
  'C++': ['c++', 'c'],
  'C♯': ['c#', 'c'],
}
const [FINDING_ALL, FINDING_NONE] = [
  ['', '?!'],
  ['oledad', 'cien 22'],
]

for (const target of targets())
  describe(`decisions: pages, order, filters and search of the list (${target.name})`, () => {
    const session = useSession(target)
    const list = (query: string) => session.call<Book[]>('GET', `/books?${query}`)

    /** A word that no other book has, so that the tests can be run against a catalogue in use; no search is for x. */
    const newWord = () => `x${crypto.randomUUID().replaceAll('-', '')}`

    async function create(author: string, titles: readonly string[], years: readonly number[] = []) {
      const books: Book[] = []
      for (const [i, title] of titles.entries())
        books.push(await session.create({ title, author, year: years[i] ?? i }))
      return books
    }

    function dataOf(reply: Reply<Book[]>): Book[] {
      assertResponse(reply, 200, 'Books retrieved successfully')
      return reply.body.data
    }

    const titlesOf = (books: readonly Book[]) => books.map(({ title }) => title)
    const titles = async (query: string) => titlesOf(dataOf(await list(query)))

    /** The query of the next page (RFC 8288 §3). */
    function next({ headers }: Reply): string | undefined {
      const link = headers.get('link')
      if (link === null) return undefined
      // nginx refuses a response with more than 4 KiB of headers, unless it is configured otherwise.
      assert.ok(link.length <= 3500)
      // Relative to the request, because a proxy may put the service under a path of its own.
      return /^<books\?([^>]*)>; rel="next"$/.exec(link)?.[1] ?? assert.fail(link)
    }

    /** The books of all pages, and how many pages there were. */
    async function walk(query: string) {
      const books: Book[] = []
      let pages = 0
      for (let rest: string | undefined = query; rest !== undefined; pages++) {
        const reply: Reply<Book[]> = await list(rest)
        books.push(...dataOf(reply))
        rest = next(reply)
      }
      return { books, pages }
    }

    it('pages follow one another by Link, which keeps the parameters, until there are no more books', async () => {
      const author = `${newWord()}&+#>é`
      const filter = `author=${encodeURIComponent(author)}`
      const books = await create(author, ['a', 'b', 'c', 'd', 'e'])
      for (const [limit, pages] of Object.entries({ 1: 5, 2: 3, 5: 1, 1000: 1 }))
        assert.deepEqual(await walk(`${filter}&limit=${limit}`), { books, pages }, `limit ${limit}`)
      const cursor = new URLSearchParams(next(await list(`${filter}&limit=1`))).get('after')
      for (const limit of ['', '&limit=2'])
        assert.deepEqual((await walk(`after=${cursor}&${filter}${limit}`)).books, books.slice(1), limit)
      for (const query of ['limit=1', `${filter}&sort=-title&limit=1&count=true`]) {
        const first = await list(query)
        assert.equal(dataOf(first).length, 1)
        assert.match(next(first)?.replace(query, '') ?? '', /^&after=[\w-]+$/)
      }
    })

    it('the text of a page stays below 4 MiB', async () => {
      const author = newWord()
      const title = `x${'é'.repeat((2 ** 19 - author.length - 1) / 2)}`
      const [{ id }] = (await create(author, Array(9).fill(title))) as [Book]
      const query = `limit=9&author=${author}`
      const lengths = async () => [dataOf(await list(query)).length, (await walk(query)).books.length]
      assert.deepEqual(await lengths(), [7, 9])
      await session.update(id, { title: title.slice(1) })
      assert.deepEqual(await lengths(), [8, 9])
    })

    for (const sort of ['-title,author', 'author,-title'])
      it(`decision: by ${sort}, no book with long texts is passed over when books go, and nginx passes every Link on`, async () => {
        const word = newWord()
        const long = ['a', 'b', 'c', 'd', 'e', 'f'].map((end) => '\u0001'.repeat(480) + end)
        const created = await create(`${'文'.repeat(300)} ${word}`, long)
        const first = await list(`q=${word}&sort=${sort}&limit=2`)
        await session.remove(created[1]?.id ?? 0)
        const { books } = await walk(next(first) ?? '')
        assert.deepEqual([...dataOf(first), ...books], created)
      })

    it('the next page begins where the last ended, although its last book is gone and others have come', async () => {
      const author = newWord()
      const created = await create(author, ['a', 'c', 'e', 'g'])
      const first = await list(`author=${author}&sort=title&limit=2`)
      assert.deepEqual(dataOf(first), created.slice(0, 2))
      await session.remove(created[1]?.id ?? 0)
      await create(author, ['b', 'd'])
      assert.deepEqual(await titles(next(first) ?? ''), ['d', 'e'])
    })

    it('count=true tells the number of all books of the filter, on every page and without one', async () => {
      const author = newWord()
      await create(author, ['a', 'b', 'c'])
      const count = async (query: string) => (await list(query)).headers.get('x-total-count')
      const second = next(await list(`author=${author}&limit=2&count=true`)) ?? ''
      for (const query of [`author=${author}&limit=2&count=true`, second, `author=${author}&count=true`])
        assert.equal(await count(query), '3', query)
      for (const query of [`author=${author}&count=false`, `author=${author}&limit=2`])
        assert.equal(await count(query), null, query)
      assert.ok(Number(await count('limit=1&count=true')) >= 3)
    })

    it('sort orders by its fields in their order, the highest first after "-", and by id in the end', async () => {
      const author = newWord()
      const books = await create(author, ['b', 'a', 'b', 'a'], [2, 2, 1, 2])
      for (const [sort, order] of Object.entries({
        id: [0, 1, 2, 3],
        '-id,title': [3, 2, 1, 0],
        title: [1, 3, 0, 2],
        'title,-id': [3, 1, 2, 0],
        '-year': [0, 1, 3, 2],
        'year,-title': [2, 0, 1, 3],
        'author,-year,title': [1, 3, 0, 2],
      }))
        for (const limit of [1, 3, 1000]) {
          const expected = order.map((i) => books[i])
          assert.deepEqual((await walk(`author=${author}&sort=${sort}&limit=${limit}`)).books, expected, sort)
        }
    })

    it('texts compare without case, accents, punctuation and the article of a title, then by code point; authors with their articles', async () => {
      const word = newWord()
      await create(word, SORTED.toReversed())
      assert.deepEqual(await titles(`author=${word}&sort=title`), SORTED)
      assert.deepEqual(await titles(`author=${word}&sort=-title`), SORTED.toReversed())
      const authors = ['Éluard', 'eluard b', 'Le Guin', 'Lem', 'OBrien', 'O’Brien', 'The Beatles', 'Zola']
      for (const author of authors.toReversed()) await session.create({ title: word, author })
      const sorted = dataOf(await list(`title=${word}&sort=author`))
      assert.deepEqual(
        sorted.map(({ author }) => author),
        authors,
      )
    })

    it('title and author are exact, to the last space; year, year_min and year_max are numbers', async () => {
      const author = newWord()
      await create(author, ['a', 'A', 'a  ', 'á', '', '+', 'a=b?c'], [-2, -1, 0, 1, 2, 3, 4])
      for (const [query, expected] of Object.entries({
        'title=a': ['a'],
        'title=a++': ['a  '],
        'title=a%20%20': ['a  '],
        'title=': [''],
        'title=%2B': ['+'],
        'title=a=b?c': ['a=b?c'],
        'year=-1': ['A'],
        'year_min=1&year_max=2': ['á', ''],
        'year_min=3': ['+', 'a=b?c'],
        'year_min=0&year_max=0': ['a  '],
        'year_max=-1': ['a', 'A'],
        'year=0&year_min=1': [],
        'year_min=2&year_max=1': [],
      }))
        assert.deepEqual(await titles(`author=${author}&${query}`), expected, query)
      assert.deepEqual(await titles(`author=+${author}`), [])
    })

    it('q finds words by their beginning, whatever the case, the accents and the punctuation, in every script', async () => {
      const word = newWord()
      const all = Object.keys(FOUND)
      await create(`Tester ${word}`, all)
      for (const searched of [...FINDING_ALL, ...FINDING_NONE, ...Object.values(FOUND).flat()]) {
        const isFound = (title: string) => FINDING_ALL.includes(searched) || FOUND[title]?.includes(searched)
        const expected = all.filter(isFound).sort()
        const query = `q=${encodeURIComponent(`${word} ${searched}`)}`
        assert.deepEqual((await titles(query)).sort(), expected, searched)
        const { books } = await walk(`${query}&limit=5&sort=-title`)
        assert.deepEqual(titlesOf(books).sort(), expected, `${searched}, page by page`)
      }
    })

    it('q without any word, of punctuation or emoji alone, finds nothing', async () => {
      await create(newWord(), ['???', '🐍', 'A'])
      for (const q of ['???', '🐍'])
        for (const more of ['', '&sort=-title&limit=1']) {
          const reply = await list(`q=${encodeURIComponent(q)}&count=true${more}`)
          assert.deepEqual([dataOf(reply), reply.headers.get('x-total-count')], [[], '0'])
        }
    })

    it('q may have 32 words', async () => {
      const author = newWord()
      const title = words(31).replaceAll('+', ' ')
      await create(author, [title, title.slice(0, -1)])
      assert.deepEqual(await titles(`q=${author}+${words(31)}`), [title])
    })

    it('q has four groups: the title itself, all words in the title, whole words, and others; sort has its own order', async () => {
      const word = newWord()
      const inTitle = `My ${word} cat`
      const itself = `The ${word.toUpperCase()} Cat!`
      await create(`Tester ${word}`, ['Catalogue', 'Of a cat', inTitle, itself])
      const expected = [itself, inTitle, 'Of a cat', 'Catalogue']
      assert.deepEqual(await titles(`q=${word}+cat`), expected)
      assert.deepEqual(titlesOf((await walk(`q=${word}+cat&limit=1`)).books), expected)
      const byTitle = ['Catalogue', inTitle, 'Of a cat', itself]
      assert.deepEqual(await titles(`q=${word}+cat&sort=title`), byTitle)
    })

    it('decision: a query that is refused is 400 Invalid query parameter, and told why', async () => {
      for (const [reason, queries] of Object.entries(REFUSED))
        for (const query of queries)
          assertResponse(await list(query), 400, `Invalid query parameter: ${reason}`, null)
    })

    it('400 Invalid query parameter: a cursor that was changed, or is of another order', async () => {
      const author = newWord()
      await create(author, ['b word', 'c word', 'd word'])
      const filter = `author=${author}&limit=1`
      const cursorOf = async (query: string) =>
        new URLSearchParams(next(await list(`${filter}&${query}`))).get('after') ?? ''
      for (const [query, ...others] of [
        ['sort=title', 'sort=-title', 'sort=title,year', 'sort=id', 'q=word', 'count=true'],
        ['q=word', 'q=wor', 'q=word+w', 'q=word+word', 'q=the+word'],
        ['q=word+w', 'q=w+word'],
      ] as const) {
        const cursor = await cursorOf(query)
        assert.deepEqual(await titles(`${filter}&${query}&after=${cursor}`), ['c word'])
        for (const other of others) assertInvalidQuery(await list(`${filter}&${other}&after=${cursor}`))
        for (const changed of [`${cursor}A`, cursor.slice(0, -1), `${cursor}=`, `%20${cursor}`])
          assertInvalidQuery(await list(`${query}&after=${changed}`))
      }
    })

    it('the token is checked before the query, of which other endpoints take no notice', async () => {
      await session.expect('GET', '/books?x', { token: 'x' }, 401, 'Invalid token')
      const { id } = await session.create()
      await session.expect('GET', `/book/${id}?limit=x`, {}, 200, 'Book retrieved successfully')
    })

    it('GET /books/statistics counts books by decade and by author, also before our era; the filters are those of the list', async () => {
      const author = newWord()
      await create(author, Array(7).fill('Darkness'), [1970, 1979, 1980, 0, -1, -10, -11])
      const decade = (first: number, books: number) => ({ decade: first, books })
      const all = [decade(-20, 1), decade(-10, 2), decade(0, 1), decade(1970, 2), decade(1980, 1)]
      for (const [query, decades, books] of [
        [`author=${author}`, all, 7],
        [`author=${author}&year_min=1&year_max=1979&q=darkness`, [decade(1970, 2)], 2],
        [`author=${author}&title=T`, [], 0],
        ['q=...', [], 0],
      ] as const) {
        const data = { decades, authors: books === 0 ? [] : [{ author, books }] }
        const reply = await session.call('GET', `/books/statistics?${query}`)
        assertResponse(reply, 200, 'Statistics retrieved successfully', data)
      }
      for (const query of ['limit=1', 'sort=year', 'count=true', 'after=x', 'x=1', 'year=x', 'q=a&q=b'])
        assertInvalidQuery(await session.call('GET', `/books/statistics?${query}`))
      await session.expect('GET', '/books/statistics', { token: 'x' }, 401, 'Invalid token')
    })
  })
