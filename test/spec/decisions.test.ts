import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { useSession } from './session.ts'

/** Ids that are not canonical: spellings of the id of a book that exists, and others. */
const NO_IDS: Record<string, (id: number) => string> = {
  'id + .0': (id) => `${id}.0`,
  '0 + id': (id) => `0${id}`,
  '+ + id': (id) => `+${id}`,
  'id in percent-encoding': (id) => String(id).replaceAll(/\d/g, '%3$&'),
  'id + 2^53': (id) => String(2n ** 53n + BigInt(id)),
  'id + 2^64': (id) => String(2n ** 64n + BigInt(id)),
  ...Object.fromEntries(
    ['abc', '0', '%C3%28', '9007199254740992', '1'.repeat(5000)].map((text) => [text, () => text]),
  ),
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

    for (const path of ['/book/abc', `/book/${Number.MAX_SAFE_INTEGER}`])
      it(`decision: an id that no book can have, or has: authentication comes first, and a PUT body last: ${path}`, async () => {
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const body = method === 'PUT' ? { text: '{' } : {}
          await session.expect(method, path, { ...body, token: 'x' }, 401, 'Invalid token')
          await session.expect(method, path, body, 404, 'Book not found')
        }
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
      const created: number[] = []
      for (let time = 1; time <= 12; time++) created.push((await session.create()).id)
      for (const id of created.slice(0, 3).reverse())
        await session.update(id, { title: `${id} changed, and longer than before` })
      const ids = (await session.list()).map(({ id }) => id)
      assert.ok(created.every((id) => ids.includes(id)))
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => a - b),
      )
    })
  })
