import { describe, it } from 'node:test'
import { assertResponse, call, targets } from './client.ts'
import { useSession } from './session.ts'

for (const target of targets()) {
  describe(`delete (${target.name})`, () => {
    const session = useSession(target)

    it('§4 DELETE /book/:id: "success" is 200 Book deleted successfully with data null', async () => {
      const { id } = await session.create()
      assertResponse(await session.call('DELETE', `/book/${id}`), 200, 'Book deleted successfully', null)
    })

    it('§4 rule 4: "After a successful DELETE, a GET of the same id returns 404."', async () => {
      const { id } = await session.create()
      assertResponse(await session.call('DELETE', `/book/${id}`), 200, 'Book deleted successfully', null)
      assertResponse(await session.call('GET', `/book/${id}`), 404, 'Book not found', null)
    })

    it('§3: "no longer exists after deletion": a PUT of the same id is 404 and does not bring it back', async () => {
      const { id, ...fields } = await session.create()
      assertResponse(await session.call('DELETE', `/book/${id}`), 200, 'Book deleted successfully', null)
      const reply = await session.call('PUT', `/book/${id}`, { json: fields })
      assertResponse(reply, 404, 'Book not found', null)
      assertResponse(await session.call('GET', `/book/${id}`), 404, 'Book not found', null)
    })

    it('§4 DELETE /book/:id deletes no other book', async () => {
      const [before, book, after] = [
        await session.create(),
        await session.create(),
        await session.create(),
      ] as const
      assertResponse(await session.call('DELETE', `/book/${book.id}`), 200, 'Book deleted successfully', null)
      await session.assertStored(before)
      await session.assertStored(after)
    })

    it('§5.5: a DELETE without a valid token deletes nothing', async () => {
      const book = await session.create()
      const path = `/book/${book.id}`
      assertResponse(await call(target, 'DELETE', path), 401, 'Authorization token required', null)
      assertResponse(await call(target, 'DELETE', path, { token: 'x' }), 401, 'Invalid token', null)
      await session.assertStored(book)
    })
  })
}
