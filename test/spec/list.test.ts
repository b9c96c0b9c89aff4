import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, type Book, targets } from './client.ts'
import { useSession } from './session.ts'
import { TEXTS } from './texts.ts'

for (const target of targets()) {
  describe(`list (${target.name})`, () => {
    const session = useSession(target)

    async function list(): Promise<Book[]> {
      const reply = await session.call<Book[]>('GET', '/books')
      assertResponse(reply, 200, 'Books retrieved successfully')
      return reply.body.data
    }

    /** The listed books that are among the given ones, by id. */
    async function listed(books: Book[]): Promise<Book[]> {
      const ids = new Set(books.map(({ id }) => id))
      return (await list()).filter(({ id }) => ids.has(id)).sort((a, b) => a.id - b.id)
    }

    it('§4 GET /books: "success" is 200 Books retrieved successfully with "array of Book"', async () => {
      await session.create()
      const books = await list()
      assert.ok(Array.isArray(books) && books.length > 0)
      for (const { id, title, author, year, ...others } of books) {
        const types = [typeof id, typeof title, typeof author, typeof year]
        assert.deepEqual(types, ['number', 'string', 'string', 'number'], `book ${id}`)
        assert.deepEqual(others, {}, `book ${id}`)
      }
    })

    it('§4 rule 5: "A created book appears in GET `/books`": each once, with its own fields', async () => {
      const books: Book[] = []
      for (const [name, text] of Object.entries(TEXTS)) {
        books.push(await session.create({ title: text, author: name }))
      }
      assert.deepEqual(await listed(books), books)
    })

    it('§4 rule 5: "A created book appears in GET `/books`": each once, also in a list of some megabytes', async () => {
      const books: Book[] = []
      for (let year = 1; year <= 50; year++) {
        books.push(await session.create({ title: `${year}`.padEnd(50_000, 'x'), year }))
      }
      assert.deepEqual(await listed(books), books)
    })

    it('§4 GET /books: no id is listed twice', async () => {
      await session.create()
      const ids = (await list()).map(({ id }) => id)
      assert.equal(new Set(ids).size, ids.length)
    })

    it('§4 PUT /book/:id: the list shows the updated book', async () => {
      const books = [await session.create(), await session.create()] as const
      await session.call('PUT', `/book/${books[0].id}`, { json: { title: 'changed' } })
      assert.deepEqual(await listed([...books]), [{ ...books[0], title: 'changed' }, books[1]])
    })

    it('§4 DELETE /book/:id: the list no longer has the book, but the others', async () => {
      const books = [await session.create(), await session.create(), await session.create()] as const
      await session.call('DELETE', `/book/${books[1].id}`)
      assert.deepEqual(await listed([...books]), [books[0], books[2]])
    })
  })
}
