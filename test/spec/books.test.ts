import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Book, targets } from './client.ts'
import { NOVEL, useSession } from './session.ts'
import { TEXTS } from './texts.ts'

/** Bodies that are no JSON, no object, or that have a field of another type than §2 says. */
const UNREADABLE: Record<string, string> = {
  'no body': '',
  'a form': 'title=a&author=b&year=1',
  'an object that does not end': '{"title":"a","author":"b","year":1',
  'names without quotes': '{title:"a",author:"b",year:1}',
  'a trailing comma': '{"title":"a","author":"b","year":1,}',
  'a line break in a string': '{"title":"a\n","author":"b","year":1}',
  'an array of a book': JSON.stringify([NOVEL]),
  'a string': '"title"',
  'a number': '1969',
  'more after the JSON': `${JSON.stringify(NOVEL)}}`,
  ...Object.fromEntries(
    [{ title: 5 }, { title: true }, { author: {} }, { author: ['a'] }, { year: '1969' }, { year: 1.5 }].map(
      (wrong) => [
        `a field of the wrong type: ${JSON.stringify(wrong)}`,
        JSON.stringify({ ...NOVEL, ...wrong }),
      ],
    ),
  ),
}

const CHANGES: Partial<Book>[] = [
  { title: 'changed' },
  { author: 'changed' },
  { year: 0 },
  { title: 'changed', year: 2001 },
  { title: 'changed', author: 'changed', year: 2001 },
]

const ORDER =
  '§4 rule 3: "The order of checks on PUT is: authentication, existence (404), then body validity (400)."'
const REQUIRED = 'Authorization token required'

for (const target of targets())
  describe(`books (${target.name})`, () => {
    const session = useSession(target)

    const list = async () =>
      (await session.expect<Book[]>('GET', '/books', {}, 200, 'Books retrieved successfully')).body.data

    /** The listed books that are among the given ones. */
    async function listed(books: readonly Book[]): Promise<Book[]> {
      const ids = new Set(books.map(({ id }) => id))
      return (await list()).filter(({ id }) => ids.has(id)).sort((a, b) => a.id - b.id)
    }

    const put = (id: number, json: object, data?: Book) =>
      session.expect('PUT', `/book/${id}`, { json }, 200, 'Book updated successfully', data)
    const remove = (id: number) =>
      session.expect('DELETE', `/book/${id}`, {}, 200, 'Book deleted successfully', null)

    it('§1: "Offers create, list, read-one, update and delete operations on books." §3: "A book exists after creation, can be updated, and no longer exists after deletion."', async () => {
      const { id } = await session.create()
      await list()
      await session.assertStored({ id, ...NOVEL })
      await put(id, { year: 1970 })
      await remove(id)
      await session.expect('GET', `/book/${id}`, {}, 404, 'Book not found')
    })

    it('§4 POST /book: "success" is 201 Book created successfully with "created Book including assigned `id`", §2 an "unsigned integer"', async () => {
      const reply = await session.expect<Book>(
        'POST',
        '/book',
        { json: NOVEL },
        201,
        'Book created successfully',
      )
      const { id } = reply.body.data
      assert.deepEqual(reply.body.data, { id, ...NOVEL })
      assert.ok(Number.isSafeInteger(id) && id >= 0, `id is ${JSON.stringify(id)}`)
    })

    it('§4 rule 1: "The id of a created book is assigned by the service.": equal books get ids of their own, also when many are created at once', async () => {
      const books = await Promise.all(Array.from({ length: 20 }, () => session.create()))
      assert.equal(new Set(books.map(({ id }) => id)).size, books.length)
      await Promise.all(books.map((book) => session.assertStored(book)))
    })

    it('§4 rule 5: "A created book appears in GET `/books` and is retrievable by GET `/book/:id`.": once, with its own fields, and with nothing else', async () => {
      const books: Book[] = []
      for (const [name, text] of Object.entries(TEXTS))
        books.push(await session.create({ title: text, author: name }))
      for (const book of books) await session.assertStored(book)
      assert.deepEqual(await listed(books), books)
    })

    it('§4 rule 5: "A created book appears in GET `/books`": once, also in a list of some megabytes', async () => {
      const books: Book[] = []
      for (let year = 1; year <= 50; year++)
        books.push(await session.create({ title: `${year}`.padEnd(50_000, 'x'), year }))
      assert.deepEqual(await listed(books), books)
    })

    it('§4 GET /books: "success" is 200 Books retrieved successfully with "array of Book", §4 GET: "no book with that id" is 404 Book not found', async () => {
      await session.create()
      for (const { id, title, author, year, ...others } of await list()) {
        const types = [typeof id, typeof title, typeof author, typeof year]
        assert.deepEqual([types, others], [['number', 'string', 'string', 'number'], {}], `book ${id}`)
      }
      await session.expect('GET', `/book/${await session.missingId()}`, {}, 404, 'Book not found')
    })

    for (const [name, text] of Object.entries(TEXTS))
      it(`§2 Book: \`title\` and \`author\` are strings "supplied by the client", §4 rule 2: "The result is saved and returned.": ${name}`, async () => {
        const fields = { title: text, author: `by ${text}` }
        const book = await session.create(fields)
        assert.deepEqual(book, { id: book.id, ...fields, year: NOVEL.year })
        await session.assertStored(book)
        const other = { ...(await session.create()), ...fields }
        await put(other.id, fields, other)
        await session.assertStored(other)
      })

    for (const year of [0, 1, 1999, 2 ** 31 - 1])
      it(`§2 Book: \`year\` is an integer "supplied by the client": ${year}`, async () => {
        const book = await session.create({ year })
        assert.equal(book.year, year)
        await session.assertStored(book)
      })

    for (const change of CHANGES)
      it(`§4 rule 2: "Fields present in the body replace stored values; fields absent keep their stored values. The result is saved and returned.": ${JSON.stringify(change)}, twice`, async () => {
        const book = await session.create()
        const updated = { ...book, ...change }
        for (let time = 1; time <= 2; time++) await put(book.id, change, updated)
        await session.assertStored(updated)
      })

    it('§4 rule 2: "fields absent keep their stored values": different fields changed at the same time all survive', async () => {
      for (let round = 1; round <= 10; round++) {
        const { id } = await session.create()
        const fields = { title: `title ${round}`, author: `author ${round}`, year: round }
        await Promise.all(Object.entries(fields).map(([name, value]) => put(id, { [name]: value })))
        await session.assertStored({ id, ...fields })
      }
    })

    it('§4 PUT and DELETE /book/:id change no other book, and the list shows what they did', async () => {
      const books = [await session.create(), await session.create(), await session.create()] as const
      await put(books[0].id, { title: 'changed', author: 'changed', year: 2001 })
      await remove(books[1].id)
      const left = [{ ...books[0], title: 'changed', author: 'changed', year: 2001 }, books[2]]
      for (const book of left) await session.assertStored(book)
      assert.deepEqual(await listed(books), left)
    })

    it('§4 rule 4: "After a successful DELETE, a GET of the same id returns 404.", §4 PUT: "no book with that id" is 404 Book not found, and none is created', async () => {
      const { id } = await session.create()
      await remove(id)
      await session.expect('GET', `/book/${id}`, {}, 404, 'Book not found')
      await session.expect('PUT', `/book/${id}`, { json: NOVEL }, 404, 'Book not found')
      await session.expect('GET', `/book/${id}`, {}, 404, 'Book not found')
    })

    for (const [name, text] of Object.entries(UNREADABLE))
      it(`§4: "body cannot be read as a Book" is 400 Invalid input on POST and PUT, and nothing is changed: ${name}`, async () => {
        await session.expect('POST', '/book', { text }, 400, 'Invalid input')
        const book = await session.create({ title: 'kept', author: 'kept', year: 1 })
        await session.expect('PUT', `/book/${book.id}`, { text }, 400, 'Invalid input')
        await session.assertStored(book)
      })

    it('§4 POST /book: "body cannot be read as a Book": nothing is created', async () => {
      const title = `unreadable ${Math.random()}`
      const json = { ...NOVEL, title, year: '1969' }
      await session.expect('POST', '/book', { json }, 400, 'Invalid input')
      assert.ok(!(await list()).some((book) => book.title === title))
    })

    it(`${ORDER}: authentication before existence and body, also on POST`, async () => {
      const ids = [(await session.create()).id, await session.missingId()]
      for (const [method, path] of [['POST', '/book'], ...ids.map((id) => ['PUT', `/book/${id}`])] as const) {
        const text = '{'
        await session.expect(`${method}`, `${path}`, { text, token: undefined }, 401, REQUIRED)
        await session.expect(`${method}`, `${path}`, { text, token: 'x' }, 401, 'Invalid token')
      }
    })

    for (const text of ['', '{', '[]', '{"title":5}', '{"year":"1999"}'])
      it(`${ORDER}: existence before the body ${text}`, async () => {
        await session.expect('PUT', `/book/${await session.missingId()}`, { text }, 404, 'Book not found')
      })
  })
