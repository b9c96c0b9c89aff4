import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Book, targets } from './client.ts'
import { NOVEL, useSession } from './session.ts'
import { TEXTS } from './texts.ts'

/** Bodies that are no JSON, no object, or that have a field of another type than §2 says. */
const UNREADABLE: Record<string, string> = {
  'no body': '',
  'an object that does not end': '{"title":"a","author":"b","year":1',
  'more after the JSON': `${JSON.stringify(NOVEL)}}`,
  'an array of a book': JSON.stringify([NOVEL]),
  'an author that is an object': JSON.stringify({ ...NOVEL, author: {} }),
  'a year that is a string': JSON.stringify({ ...NOVEL, year: '1969' }),
}

const CHANGES: Partial<Book>[] = [
  { title: 'changed' },
  { year: 0 },
  { title: 'changed', author: 'changed', year: 2001 },
]

const ORDER =
  '§4 rule 3: "The order of checks on PUT is: authentication, existence (404), then body validity (400)."'

for (const target of targets())
  describe(`books (${target.name})`, () => {
    const session = useSession(target)

    /** The listed books that are among the given ones. */
    async function listed(books: readonly Book[]): Promise<Book[]> {
      const ids = new Set(books.map(({ id }) => id))
      return (await session.list()).filter(({ id }) => ids.has(id)).sort((a, b) => a.id - b.id)
    }

    it('§1, §3, §4 rules 1 and 4: a book is created under an id that the service assigns, read, updated and deleted; then it "no longer exists", and no PUT brings it back', async () => {
      const created = await session.create()
      const { id } = created
      assert.deepEqual(created, { id, ...NOVEL })
      assert.ok(Number.isSafeInteger(id) && id >= 0, `id is ${JSON.stringify(id)}`)
      await session.assertStored(created)
      await session.update(id, { year: 1970 }, { ...created, year: 1970 })
      await session.remove(id)
      await session.expect('GET', `/book/${id}`, {}, 404, 'Book not found')
      await session.expect('PUT', `/book/${id}`, { json: NOVEL }, 404, 'Book not found')
      await session.expect('GET', `/book/${id}`, {}, 404, 'Book not found')
    })

    it('§4 rule 1: "The id of a created book is assigned by the service.": equal books get ids of their own, also when many are created at once', async () => {
      const books = await Promise.all(Array.from({ length: 20 }, () => session.create()))
      assert.equal(new Set(books.map(({ id }) => id)).size, books.length)
      await Promise.all(books.map((book) => session.assertStored(book)))
    })

    it('§2 Book: fields are "supplied by the client"; §4 rules 2 and 5: every text and year is stored, listed once and updated as it is, and the list may have megabytes', async () => {
      const { id } = await session.create()
      const books: Book[] = []
      for (const fields of [
        ...Object.values(TEXTS).map((text) => ({ title: text, author: `by ${text}`, year: 1 })),
        ...[0, 1, 1999, 2 ** 31 - 1].map((year) => ({ ...NOVEL, year })),
      ]) {
        const book = await session.create(fields)
        assert.deepEqual(book, { id: book.id, ...fields })
        await session.assertStored(book)
        books.push(book)
        await session.update(id, fields, { id, ...fields })
        await session.assertStored({ id, ...fields })
      }
      const titles = Array.from({ length: 50 }, (_, i) => `${i}`.padEnd(50_000, 'x'))
      books.push(...(await Promise.all(titles.map((title) => session.create({ title })))))
      assert.deepEqual(
        await listed(books),
        books.toSorted((a, b) => a.id - b.id),
      )
    })

    it('§4 rule 2: "Fields present in the body replace stored values; fields absent keep their stored values. The result is saved and returned.", also when it is repeated', async () => {
      for (const change of CHANGES) {
        const book = await session.create()
        const updated = { ...book, ...change }
        for (let time = 1; time <= 2; time++) await session.update(book.id, change, updated)
        await session.assertStored(updated)
      }
    })

    it('§4 rule 2: "fields absent keep their stored values": different fields changed at the same time all survive', async () => {
      for (let round = 1; round <= 10; round++) {
        const { id } = await session.create()
        const fields = { title: `title ${round}`, author: `author ${round}`, year: round }
        const changes = Object.entries(fields).map(([name, value]) => session.update(id, { [name]: value }))
        await Promise.all(changes)
        await session.assertStored({ id, ...fields })
      }
    })

    it('§4 PUT and DELETE /book/:id change no other book, and the list shows what they did', async () => {
      const books = [await session.create(), await session.create(), await session.create()] as const
      const changed = { ...books[0], title: 'changed', author: 'changed', year: 2001 }
      await session.update(changed.id, changed)
      await session.remove(books[1].id)
      for (const book of [changed, books[2]]) await session.assertStored(book)
      assert.deepEqual(await listed(books), [changed, books[2]])
    })

    for (const [name, text] of Object.entries(UNREADABLE))
      it(`§4: "body cannot be read as a Book" is 400 Invalid input on POST and PUT, and nothing is created or changed: ${name}`, async () => {
        const book = await session.create()
        await session.expect('PUT', `/book/${book.id}`, { text }, 400, 'Invalid input')
        await session.assertStored(book)
        const unique = `unreadable ${crypto.randomUUID()}`
        const post = { text: text.replace(NOVEL.title, unique) }
        await session.expect('POST', '/book', post, 400, 'Invalid input')
        assert.ok(!(await session.list()).some(({ title }) => title === unique))
      })

    it(`${ORDER}`, async () => {
      const missing = `/book/${await session.missingId()}`
      for (const text of ['', '{', '[]', '{"title":5}', '{"year":"1999"}'])
        await session.expect('PUT', missing, { text }, 404, 'Book not found')
      const text = '{'
      const { id } = await session.create()
      for (const [method, path] of [
        ['PUT', missing],
        ['PUT', `/book/${id}`],
        ['POST', '/book'],
      ] as const) {
        await session.expect(method, path, { text, token: undefined }, 401, 'Authorization token required')
        await session.expect(method, path, { text, token: 'x' }, 401, 'Invalid token')
      }
    })
  })
