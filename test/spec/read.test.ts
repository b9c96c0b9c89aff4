import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, type Book, targets } from './client.ts'
import { NOVEL, useSession } from './session.ts'

for (const target of targets()) {
  describe(`read (${target.name})`, () => {
    const session = useSession(target)

    it('§4 GET /book/:id: "success" is 200 Book retrieved successfully with the Book', async () => {
      const { id } = await session.create()
      const reply = await session.call('GET', `/book/${id}`)
      assertResponse(reply, 200, 'Book retrieved successfully', { id, ...NOVEL })
    })

    it('§4 GET /book/:id: each id has its own book', async () => {
      const books = [await session.create({ title: 'one' }), await session.create({ title: 'two' })]
      for (const book of books) await session.assertStored(book)
    })

    it('§4 GET /book/:id: "no book with that id" is 404 Book not found', async () => {
      const reply = await session.call('GET', `/book/${await session.missingId()}`)
      assertResponse(reply, 404, 'Book not found', null)
    })

    it('§4 GET /book/:id changes nothing: a second response is the same', async () => {
      const { id } = await session.create()
      const [first, second] = [
        await session.call<Book>('GET', `/book/${id}`),
        await session.call<Book>('GET', `/book/${id}`),
      ]
      assert.deepEqual(second.body, first.body)
      assertResponse(first, 200, 'Book retrieved successfully', { id, ...NOVEL })
    })
  })
}
