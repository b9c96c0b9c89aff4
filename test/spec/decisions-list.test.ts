import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertInvalidQuery, assertResponse, type Book, type Reply, targets } from './client.ts'
import { useSession } from './session.ts'

/** What is said of a query that is refused: the parameter, what is wrong, and what it may be. */
const REASONS: Record<string, string> = {
  'limit=0': 'limit must be an integer from 1 to 1000',
  'limit=ten': 'limit must be an integer from 1 to 1000',
  'year=1979.5': 'year must be an integer from -9007199254740991 to 9007199254740991',
  'count=yes': 'count must be true or false',
  'sort=isbn': 'sort must be the fields to sort by, such as `year,-title`, each at most once',
  'sort=title,-title': 'sort names a field twice',
  'q=+': 'q must not be empty',
  [`q=${Array.from({ length: 33 }, (_, i) => `w${i}`).join('+')}`]: 'q must have at most 32 words',
  'after=x': 'after must be the cursor of a Link field, with the same sort and q',
  'spreadsheet=true': 'spreadsheet is only for requests that accept text/csv',
  'limit=1&limit=2': 'limit is given twice',
  limit: 'one is not written as name=value',
  'title=%FF': 'title must be percent-encoded UTF-8 without NUL',
  '%FF=1': 'the name of one must be percent-encoded UTF-8 without NUL',
  'off%E2%80%AEset=1':
    'there is no "off\\u{202e}set"; there are limit, after, count, sort, spreadsheet, q, title, author, year, year_min, year_max',
}

/** Query strings that say nothing, or something that cannot be. `*` is an author of the tests. */
const MALFORMED = [
  ...[
    'limit=0',
    'limit=1001',
    'limit=-1',
    'limit=',
    'limit=1.5',
    'limit=1e2',
    'limit=01',
    'limit=+1',
    'limit=%31%30x',
    'limit',
  ],
  ...[
    'limit=1&limit=1',
    'LIMIT=1',
    'limit[]=1',
    'offset=1',
    'page=2',
    'x=1',
    '=1',
    '&',
    'limit=1&',
    '&limit=1',
    '__proto__=1',
  ],
  ...[
    'sort=',
    'sort=isbn',
    'sort=title,',
    'sort=,title',
    'sort=title,title',
    'sort=title,-title',
    'sort=--title',
  ],
  ...[
    'sort=Title',
    'sort=title%20',
    'sort=+title',
    'sort=title;year',
    'sort=id,id',
    'sort=constructor',
    'sort=relevance',
  ],
  ...[
    'year=',
    'year=x',
    'year=1.0',
    'year=1e3',
    'year=01',
    'year=-0',
    'year=%2B1',
    'year=9007199254740992',
    'year=NaN',
  ],
  ...['year_min=', 'year_max=x', 'year_min=Infinity', 'year_max=-9007199254740992', 'year_min=0x10'],
  ...['count=', 'count=1', 'count=TRUE', 'count=yes', 'q=', 'q=+', 'q=%20', 'q=%E3%80%80'],
  `q=${manyWords(33)}`,
  ...['title=%', 'title=%zz', 'title=%C3%28', 'title=%ED%A0%80', 'title=%00', 'author=%FF', 'q=%00a'],
  ...['after=', 'after=x', 'after=AAAAAAAAAAAAAAAAAAAAAAAA', 'after=%20', 'after=1', 'limit=5&after=null'],
]

function manyWords(count: number): string {
  return Array.from({ length: count }, (_, i) => `w${i}`).join('+')
}

for (const target of targets()) {
  describe(`decisions: pages, order, filters and search of the list (${target.name})`, () => {
    const session = useSession(target)
    const list = (query: string) => session.call<Book[]>('GET', `/books?${query}`)

    /** An author that no other book has, so that the tests can be run against a catalogue in use; no search is for x. */
    const newAuthor = () => `Tester x${crypto.randomUUID().replaceAll('-', '')}`

    async function create(
      author: string,
      titles: readonly string[],
      year = (i: number) => i,
    ): Promise<Book[]> {
      const books: Book[] = []
      for (const [i, title] of titles.entries())
        books.push(await session.create({ title, author, year: year(i) }))
      return books
    }

    function dataOf(reply: Reply<Book[]>): Book[] {
      assertResponse(reply, 200, 'Books retrieved successfully')
      return reply.body.data
    }

    const titles = async (query: string) => dataOf(await list(query)).map(({ title }) => title)

    /** The path of the next page (RFC 8288 §3). */
    function next({ headers }: Reply): string | undefined {
      const link = headers.get('link')
      if (link === null) return undefined
      const [, reference] = /^<([^>]*)>; rel="next"$/.exec(link) ?? []
      assert.ok(reference, `Link: ${link}`)
      // Relative to the request, because a proxy may put the service under a path of its own.
      assert.doesNotMatch(reference, /^\/|^[a-z]+:/)
      const { pathname, search } = new URL(reference, 'http://localhost/books')
      return pathname + search
    }

    /** The books of all pages, and how many pages there were. */
    async function walk(query: string): Promise<{ books: Book[]; pages: number }> {
      const books: Book[] = []
      let path: string | undefined = `/books?${query}`
      let pages = 0
      for (; path !== undefined; pages++) {
        const reply: Reply<Book[]> = await session.call<Book[]>('GET', path)
        books.push(...dataOf(reply))
        path = next(reply)
      }
      return { books, pages }
    }

    it('a search may have 32 words', async () => {
      assert.deepEqual(await titles(`q=${manyWords(32)}`), [])
    })

    it('pages follow one another by Link, until there are no more books', async () => {
      const author = newAuthor()
      const created = await create(author, ['a', 'b', 'c', 'd', 'e'])
      for (const [limit, pages] of [
        [1, 5],
        [2, 3],
        [4, 2],
        [5, 1],
        [1000, 1],
      ] as const) {
        const query = new URLSearchParams({ author, limit: String(limit) })
        assert.deepEqual(await walk(query.toString()), { books: created, pages }, `limit ${limit}`)
      }
    })

    it('the text of a page stays below 4 MiB', async () => {
      const author = newAuthor()
      const title = 'x'.repeat(2 ** 19 - author.length)
      const [{ id }] = (await create(author, Array(9).fill(title))) as [Book]
      const query = new URLSearchParams({ limit: '9', author }).toString()
      assert.deepEqual([dataOf(await list(query)).length, (await walk(query)).books.length], [7, 9])
      await session.call('PUT', `/book/${id}`, { json: { title: title.slice(1) } })
      assert.deepEqual([dataOf(await list(query)).length, (await walk(query)).books.length], [8, 9])
    })

    for (const sort of ['title,author', '-title,author', 'author,-title', '-author']) {
      it(`decision: by ${sort}, no book with long texts is passed over when books go, and nginx passes every Link on`, async () => {
        const author = `${'文'.repeat(300)} ${newAuthor()}`
        const start = '\u0001'.repeat(480)
        const created = await create(
          author,
          ['a', 'b', 'c', 'd', 'e', 'f'].map((end) => start + end),
        )
        const found = new Set<number>()
        const word = author.slice(author.lastIndexOf(' ') + 1)
        let path: string | undefined = `/books?q=${word}&sort=${sort}&limit=2`
        for (let pages = 0; path !== undefined; pages++) {
          const reply: Reply<Book[]> = await session.call<Book[]>('GET', path)
          // nginx refuses a response with more than 4 KiB of headers, unless it is configured otherwise.
          assert.ok((reply.headers.get('link') ?? '').length <= 3500)
          const ids = dataOf(reply).map(({ id }) => id)
          for (const id of ids) found.add(id)
          const last = created.find(({ id }) => id === ids.at(-1))
          // After the first page everything is as it was; after the second its last book is gone.
          if (last !== undefined && pages === 1)
            assertResponse(await session.call('DELETE', `/book/${last.id}`), 200, 'Book deleted successfully')
          path = next(reply)
        }
        assert.deepEqual(
          created.filter(({ id }) => !found.has(id)),
          [],
        )
      })
    }

    it('a page of all books needs no other parameter, and its Link keeps those that it had', async () => {
      const author = newAuthor()
      await create(author, ['a', 'b'])
      const all = await list('limit=1')
      assert.equal(dataOf(all).length, 1)
      assert.match(next(all) ?? '', /^\/books\?limit=1&after=[\w-]+$/)
      const some = await list(`author=${encodeURIComponent(author)}&sort=-title&limit=1&count=true`)
      const parameters = new URLSearchParams(next(some)?.split('?')[1])
      parameters.delete('after')
      assert.deepEqual(
        [...parameters],
        [
          ['author', author],
          ['sort', '-title'],
          ['limit', '1'],
          ['count', 'true'],
        ],
      )
    })

    it('the next page begins where the last ended, although its last book is gone and others have come', async () => {
      const author = newAuthor()
      const created = await create(author, ['a', 'c', 'e', 'g'])
      const first = await list(`author=${encodeURIComponent(author)}&sort=title&limit=2`)
      assert.deepEqual(dataOf(first), created.slice(0, 2))
      await session.call('DELETE', `/book/${created[1]?.id}`)
      await create(author, ['b', 'd'])
      const second = await session.call<Book[]>('GET', next(first) ?? '')
      assert.deepEqual(
        dataOf(second).map(({ title }) => title),
        ['d', 'e'],
      )
    })

    it('count=true tells the number of all books of the filter, on every page and without one', async () => {
      const author = newAuthor()
      await create(author, ['a', 'b', 'c'])
      const query = `author=${encodeURIComponent(author)}`
      const counted = await list(`${query}&limit=2&count=true`)
      assert.equal(counted.headers.get('x-total-count'), '3')
      assert.equal((await session.call('GET', next(counted) ?? '')).headers.get('x-total-count'), '3')
      assert.equal((await list(`${query}&count=true`)).headers.get('x-total-count'), '3')
      assert.equal((await list(`${query}&count=false`)).headers.get('x-total-count'), null)
      assert.equal((await list(`${query}&limit=2`)).headers.get('x-total-count'), null)
      assert.ok(Number((await list('limit=1&count=true')).headers.get('x-total-count')) >= 3)
    })

    it('sort orders by its fields in their order, the highest first after "-", and by id in the end', async () => {
      const author = newAuthor()
      const books = await create(author, ['b', 'a', 'b', 'a'], (i) => [2, 2, 1, 2][i] ?? 0)
      const orders: Record<string, number[]> = {
        id: [0, 1, 2, 3],
        '-id': [3, 2, 1, 0],
        title: [1, 3, 0, 2],
        '-title': [0, 2, 1, 3],
        'title,-id': [3, 1, 2, 0],
        year: [2, 0, 1, 3],
        '-year': [0, 1, 3, 2],
        'year,-title': [2, 0, 1, 3],
        '-year,title': [1, 3, 0, 2],
        'author,-year,title': [1, 3, 0, 2],
        'id,title': [0, 1, 2, 3],
      }
      for (const [sort, order] of Object.entries(orders)) {
        const expected = order.map((i) => books[i])
        for (const limit of ['', '&limit=1', '&limit=3']) {
          const query = `author=${encodeURIComponent(author)}&sort=${sort}${limit}`
          assert.deepEqual((await walk(query)).books, expected, query)
        }
      }
    })

    it('texts compare without case, accents, punctuation and the article of a title, then by code point', async () => {
      const author = newAuthor()
      const sorted = [
        '',
        ' ',
        '???',
        '\uE000',
        '\uFFFD',
        '😀',
        'A',
        'a',
        'a ',
        'a!',
        'Ä',
        'ä',
        'À la carte',
        'aa',
        'The Abbey',
        'b',
        'Die',
        'ete',
        'été',
        'L’Étranger',
        'Der Étranger 2',
        'ß',
        'The The',
        'Z',
        'z',
        'zèbre',
        'Ω',
        '中',
      ]
      await create(author, sorted.toReversed())
      assert.deepEqual(await titles(`author=${encodeURIComponent(author)}&sort=title`), sorted)
      assert.deepEqual(await titles(`author=${encodeURIComponent(author)}&sort=-title`), sorted.toReversed())
    })

    it('authors compare as titles do, with their articles', async () => {
      const tag = newAuthor()
      const sorted = ['Éluard', 'eluard b', 'Le Guin', 'Lem', 'OBrien', 'O’Brien', 'The Beatles', 'Zola']
      for (const author of sorted.toReversed())
        await session.call('POST', '/book', { json: { title: tag, author, year: 1 } })
      const books = dataOf(await list(`title=${encodeURIComponent(tag)}&sort=author`))
      assert.deepEqual(
        books.map(({ author }) => author),
        sorted,
      )
    })

    it('title and author are exact, to the last space; year, year_min and year_max are numbers', async () => {
      const author = newAuthor()
      await create(author, ['a', 'A', 'a ', 'á', '', '%', '+'], (i) => i - 2)
      const of = (query: string) => titles(`author=${encodeURIComponent(author)}&${query}`)
      assert.deepEqual(await of('title=a'), ['a'])
      assert.deepEqual(await of('title=a+'), ['a '])
      assert.deepEqual(await of('title=a%20'), ['a '])
      assert.deepEqual(await of('title='), [''])
      assert.deepEqual(await of('title=%25'), ['%'])
      assert.deepEqual(await of('title=%2B'), ['+'])
      assert.deepEqual(await of('year=-1'), ['A'])
      assert.deepEqual(await of('year_min=1&year_max=2'), ['á', ''])
      assert.deepEqual(await of('year_min=3'), ['%', '+'])
      assert.deepEqual(await of('year_max=-1'), ['a', 'A'])
      assert.deepEqual(await of('year=0&year_min=1'), [])
      assert.deepEqual(await of('year_min=2&year_max=1'), [])
      assert.deepEqual(await titles(`author=${encodeURIComponent(` ${author}`)}`), [])
    })

    it('q finds words by their beginning, whatever the case, the accents and the punctuation, in every script', async () => {
      const author = newAuthor()
      const tag = author.split(' ')[1]
      const all = [
        'Cien años de soledad',
        "L'Étranger",
        'Catch-22',
        'Übermaß',
        'Łódź',
        '百年孤独',
        'Война и мир',
        'A',
        'हिन्दी',
        '백년의 고독',
        'はじめてのPython入門',
        'الكتاب',
        'הספר',
        'C++',
        'C♯',
      ]
      await create(author, all)
      const found: Record<string, string[]> = {
        '': all,
        ano: ['Cien años de soledad'],
        'AÑOS soledad': ['Cien años de soledad'],
        oledad: [],
        etranger: ["L'Étranger"],
        "l'etranger": ["L'Étranger"],
        letranger: ["L'Étranger"],
        22: ['Catch-22'],
        catch22: ['Catch-22'],
        'catch-22': ['Catch-22'],
        'uber mass': [],
        ubermass: ['Übermaß'],
        lodz: ['Łódź'],
        孤独: ['百年孤独'],
        війна: [],
        ВОЙН: ['Война и мир'],
        a: ['A', 'Cien años de soledad'],
        हिन्: ['हिन्दी'],
        de: ['Cien años de soledad'],
        'cien catch': [],
        '٢٢': ['Catch-22'],
        독: ['백년의 고독'],
        '백녀 고ㄷ': ['백년의 고독'],
        python: ['はじめてのPython入門'],
        ハジメ: ['はじめてのPython入門'],
        كتاب: ['الكتاب'],
        ספר: ['הספר'],
        'c++': ['C++'],
        'c#': ['C♯'],
        '?!': all,
      }
      for (const [words, expected] of Object.entries(found)) {
        const query = `q=${encodeURIComponent(`${tag} ${words}`)}`
        assert.deepEqual((await titles(query)).toSorted(), expected.toSorted(), words)
        const paged = (await walk(`${query}&limit=2&sort=-title`)).books.map(({ title }) => title)
        assert.deepEqual(paged.toSorted(), expected.toSorted(), `${words}, page by page`)
      }
    })

    it('q without any word, of punctuation or emoji alone, finds nothing', async () => {
      await create(newAuthor(), ['???', '🐍', 'A'])
      for (const q of ['???', '🐍', '…', '++', '\u0301']) {
        const query = `q=${encodeURIComponent(q)}&count=true`
        const reply = await list(query)
        assertResponse(reply, 200, 'Books retrieved successfully', [])
        assert.equal(reply.headers.get('x-total-count'), '0')
        assertResponse(await list(`${query}&sort=-title&limit=1`), 200, 'Books retrieved successfully', [])
      }
    })

    it('q may have 32 words', async () => {
      const words = Array.from({ length: 31 }, (_, i) => `w${i}`).join(' ')
      const author = newAuthor()
      await create(author, [words, words.slice(0, -1)])
      const query = `q=${encodeURIComponent(`${author.split(' ')[1]} ${words}`)}`
      assert.deepEqual(await titles(query), [words])
    })

    it('q puts whole words first; sort has its own order', async () => {
      const author = newAuthor()
      const tag = author.split(' ')[1]
      await create(author, ['Catalogue', 'The cat', 'Cathedral', 'Cat'])
      assert.deepEqual(await titles(`q=${tag}+cat`), ['The cat', 'Cat', 'Catalogue', 'Cathedral'])
      assert.deepEqual(
        (await walk(`q=${tag}+cat&limit=1`)).books.map(({ title }) => title),
        ['The cat', 'Cat', 'Catalogue', 'Cathedral'],
      )
      assert.deepEqual(await titles(`q=${tag}+cat&sort=title`), ['Cat', 'The cat', 'Catalogue', 'Cathedral'])
    })

    it('the list follows every change at once', async () => {
      const author = newAuthor()
      const [book] = await create(author, ['before'])
      const query = (word: string) => `author=${encodeURIComponent(author)}&q=${word}`
      assert.deepEqual(await titles(query('before')), ['before'])
      await session.call('PUT', `/book/${book?.id}`, { json: { title: 'after' } })
      assert.deepEqual([await titles(query('before')), await titles(query('after'))], [[], ['after']])
      await session.call('DELETE', `/book/${book?.id}`)
      assert.deepEqual(await titles(query('after')), [])
    })

    for (const query of MALFORMED) {
      const shown = query.length > 40 ? `${query.slice(0, 40)}…` : query
      it(`400 Invalid query parameter: ?${shown}`, async () => {
        assertInvalidQuery(await list(query))
      })
    }

    for (const [query, reason] of Object.entries(REASONS)) {
      it(`decision: a query that is refused is told why: ${reason}`, async () => {
        assertResponse(await list(query), 400, `Invalid query parameter: ${reason}`, null)
      })
    }

    it('400 Invalid query parameter: a cursor that was changed, or is of another order', async () => {
      const author = newAuthor()
      await create(author, ['a word', 'b word', 'c word'])
      const filter = `author=${encodeURIComponent(author)}&limit=1`
      const cursorOf = async (query: string) => {
        const path = next(await list(`${filter}&${query}`)) ?? ''
        return new URLSearchParams(path.split('?')[1]).get('after') ?? ''
      }
      const cursor = await cursorOf('sort=title')
      assertResponse(await list(`${filter}&sort=title&after=${cursor}`), 200, 'Books retrieved successfully')
      for (const sort of [
        'sort=-title',
        'sort=title,year',
        'sort=author',
        'sort=id',
        'q=word',
        'count=true',
      ]) {
        assertInvalidQuery(await list(`${filter}&${sort}&after=${cursor}`))
      }
      const found = await cursorOf('q=word')
      assertResponse(await list(`${filter}&q=word&after=${found}`), 200, 'Books retrieved successfully')
      assertInvalidQuery(await list(`${filter}&q=wor&after=${found}`))
      for (let i = 0; i < cursor.length; i++) {
        const changed = cursor.slice(0, i) + (cursor[i] === 'A' ? 'B' : 'A') + cursor.slice(i + 1)
        assertInvalidQuery(await list(`sort=title&after=${changed}`))
      }
      for (const changed of [
        `${cursor}A`,
        cursor.slice(0, -1),
        `${cursor}=`,
        `${cursor}%20`,
        `%20${cursor}`,
      ]) {
        assertInvalidQuery(await list(`sort=title&after=${changed}`))
      }
    })

    it('the token is checked before the query', async () => {
      assertResponse(await session.call('GET', '/books?x', { token: 'x' }), 401, 'Invalid token', null)
    })

    it('other endpoints take no notice of a query', async () => {
      const { id } = await session.create()
      assertResponse(await session.call('GET', `/book/${id}?limit=x`), 200, 'Book retrieved successfully')
    })
  })
}
