import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, type Book, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { useSession } from './session.ts'

/** Ids that are not canonical: spellings of the id of a book that exists, and others. */
const NO_IDS: Record<string, (id: number) => string> = {
  'id + .0': (id) => `${id}.0`,
  'id + %20': (id) => `${id}%20`,
  '0 + id': (id) => `0${id}`,
  '+ + id': (id) => `+${id}`,
  'id in hexadecimal': (id) => `0x${id.toString(16)}`,
  'id in percent-encoding': (id) => String(id).replaceAll(/\d/g, '%3$&'),
  'id + 2^53': (id) => String(2n ** 53n + BigInt(id)),
  'id + 2^64': (id) => String(2n ** 64n + BigInt(id)),
  'a digit 5000 times': () => '1'.repeat(5000),
  ...Object.fromEntries(['abc', '0', '%C3%28', '9007199254740992'].map((text) => [text, () => text])),
}

for (const target of targets())
  describe(`decisions on ids (${target.name})`, () => {
    const session = useSession(target)

    for (const [name, spell] of Object.entries(NO_IDS))
      it(`decision: \`:id\` not a canonical decimal integer from 1 to 2^53−1 is 404 Book not found, on GET, PUT and DELETE: ${name}`, async () => {
        const book = await session.create()
        const headers = [`Authorization: ${session.token}`]
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const body = method === 'PUT' ? '{"title":"changed"}' : ''
          const bytes = request(target, method, `/book/${spell(book.id)}`, headers, body)
          assertResponse(await exchange(target, bytes), 404, 'Book not found', null)
        }
        await session.assertStored(book)
      })

    it('decision: the largest id, 2^53−1, is 404 Book not found while no book has it', async () => {
      const path = `/book/${Number.MAX_SAFE_INTEGER}`
      await session.expect('GET', path, {}, 404, 'Book not found')
      await session.expect('PUT', path, { json: {} }, 404, 'Book not found')
      await session.expect('DELETE', path, {}, 404, 'Book not found')
    })

    it('decision: `:id` not a canonical decimal integer: authentication comes first, and a PUT body last', async () => {
      await session.expect('GET', '/book/abc', { token: undefined }, 401, 'Authorization token required')
      await session.expect('PUT', '/book/abc', { token: 'x' }, 401, 'Invalid token')
      await session.expect('PUT', '/book/abc', { text: '{' }, 404, 'Book not found')
    })

    it('decision: DELETE of a missing id is 404 Book not found: of several at once, one succeeds', async () => {
      const { id } = await session.create()
      const replies = await Promise.all([1, 2, 3, 4].map(() => session.call('DELETE', `/book/${id}`)))
      assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 404, 404, 404])
      await session.expect('DELETE', `/book/${id}`, {}, 404, 'Book not found')
    })

    it('decision: ids are integers from 1 and never reused, not even after the newest book is deleted', async () => {
      const ids: number[] = []
      for (let time = 1; time <= 5; time++) ids.push(await session.missingId())
      ids.push((await session.create()).id)
      assert.equal(new Set(ids).size, ids.length, `ids were given again: ${ids}`)
      assert.ok(Math.min(...ids) >= 1)
    })

    it('decision: the order of the list is by `id`, also after earlier books have changed', async () => {
      const books: Book[] = []
      for (let time = 1; time <= 12; time++) books.push(await session.create())
      for (const { id } of books.slice(0, 3).reverse())
        await session.update(id, { title: `${id} changed, and longer than before` })
      const ids = (await session.list()).map(({ id }) => id)
      assert.ok(books.every(({ id }) => ids.includes(id)))
      const sorted = ids.toSorted((a, b) => a - b)
      assert.deepEqual(ids, sorted)
    })
  })
