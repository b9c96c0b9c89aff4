import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, type Book, call, targets } from './client.ts'
import { NOVEL, useSession } from './session.ts'

for (const target of targets()) {
  describe(`what the service does (${target.name})`, () => {
    const session = useSession(target)

    it('§1: "Offers create, list, read-one, update and delete operations on books." §3: "A book exists after creation, can be updated, and no longer exists after deletion."', async () => {
      const created = await session.call<Book>('POST', '/book', { json: NOVEL })
      assertResponse(created, 201, 'Book created successfully')
      const path = `/book/${created.body.data.id}`
      assertResponse(await session.call('GET', '/books'), 200, 'Books retrieved successfully')
      assertResponse(await session.call('GET', path), 200, 'Book retrieved successfully')
      assertResponse(
        await session.call('PUT', path, { json: { year: 1970 } }),
        200,
        'Book updated successfully',
      )
      assertResponse(await session.call('DELETE', path), 200, 'Book deleted successfully')
      assertResponse(await session.call('GET', path), 404, 'Book not found')
    })

    // call() checks the envelope of every reply of this suite; here it must have met each kind of reply once.
    it('§1: "Every response, success or failure, uses the same envelope" §7: "Every error uses the envelope with `data` null, an HTTP status code equal to `status`, and a `message` from this table."', async () => {
      const { id } = await session.create()
      const missing = await session.missingId()
      const responses = [
        await call(target, 'POST', '/token', { text: '{' }),
        await session.call('PUT', `/book/${id}`, { text: '{' }),
        await call(target, 'GET', `/book/${id}`),
        await call(target, 'GET', `/book/${id}`, { token: 'x' }),
        await call(target, 'POST', '/token', { json: { username: target.username, password: '' } }),
        await session.call('GET', `/book/${missing}`),
      ]
      assert.deepEqual(
        responses.map(({ body }) => body),
        [
          { status: 400, message: 'Invalid request payload', data: null },
          { status: 400, message: 'Invalid input', data: null },
          { status: 401, message: 'Authorization token required', data: null },
          { status: 401, message: 'Invalid token', data: null },
          { status: 401, message: 'Invalid credentials', data: null },
          { status: 404, message: 'Book not found', data: null },
        ],
      )
    })
  })
}
