import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NOT_AN_OBJECT, WRONG_TYPE } from './bodies.ts'
import { assertResponse, type Book, call, targets } from './client.ts'
import { useSession } from './session.ts'
import { TEXTS } from './texts.ts'

const CHANGES: Partial<Book>[] = [
  { title: 'changed' },
  { author: 'changed' },
  { year: 2001 },
  { title: 'changed', author: 'changed' },
  { title: 'changed', year: 2001 },
  { author: 'changed', year: 2001 },
  { title: 'changed', author: 'changed', year: 2001 },
  { year: 0 },
]

const ORDER =
  '§4 rule 3: "The order of checks on PUT is: authentication, existence (404), then body validity (400)."'

for (const target of targets()) {
  describe(`update (${target.name})`, () => {
    const session = useSession(target)
    const put = (id: number, json: object) => session.call<Book>('PUT', `/book/${id}`, { json })

    for (const change of CHANGES) {
      it(`§4 rule 2: "Fields present in the body replace stored values; fields absent keep their stored values. The result is saved and returned.": ${JSON.stringify(change)}`, async () => {
        const book = await session.create()
        const updated = { ...book, ...change }
        assertResponse(await put(book.id, change), 200, 'Book updated successfully', updated)
        await session.assertStored(updated)
      })
    }

    it('§4 rule 2: "the body is applied over it": changes add up', async () => {
      const book = await session.create()
      await put(book.id, { title: 'changed' })
      await put(book.id, { year: 2001 })
      await session.assertStored({ ...book, title: 'changed', year: 2001 })
    })

    it('§4 rule 2: "Fields present in the body replace stored values": the same change again answers the same', async () => {
      const book = await session.create()
      for (let time = 1; time <= 2; time++) {
        const reply = await put(book.id, { year: 2001 })
        assertResponse(reply, 200, 'Book updated successfully', { ...book, year: 2001 })
      }
    })

    it('§4 PUT /book/:id changes no other book', async () => {
      const [book, other] = [await session.create(), await session.create()]
      await put(book.id, { title: 'changed', author: 'changed', year: 2001 })
      await session.assertStored(other)
    })

    it('§4 rule 2: "fields absent keep their stored values": different fields changed at the same time all survive', async () => {
      for (let round = 1; round <= 20; round++) {
        const { id } = await session.create()
        const changes = [{ title: `title ${round}` }, { author: `author ${round}` }, { year: round }]
        const replies = await Promise.all(changes.map((change) => put(id, change)))
        for (const reply of replies) assertResponse(reply, 200, 'Book updated successfully')
        await session.assertStored({ id, title: `title ${round}`, author: `author ${round}`, year: round })
      }
    })

    for (const [name, text] of Object.entries(TEXTS)) {
      it(`§4 rule 2: "The result is saved and returned.": ${name}`, async () => {
        const updated = { ...(await session.create()), title: text, author: `by ${text}` }
        const reply = await put(updated.id, { title: text, author: `by ${text}` })
        assertResponse(reply, 200, 'Book updated successfully', updated)
        await session.assertStored(updated)
      })
    }

    it('§4 PUT /book/:id: "no book with that id" is 404 Book not found, and none is created', async () => {
      const id = await session.missingId()
      assertResponse(await put(id, { title: 'changed' }), 404, 'Book not found', null)
      assertResponse(await session.call('GET', `/book/${id}`), 404, 'Book not found', null)
    })

    for (const [name, text] of Object.entries({ ...NOT_AN_OBJECT, ...WRONG_TYPE })) {
      it(`§4 PUT /book/:id: "body cannot be read as a Book" is 400 Invalid input, and nothing is changed: ${name}`, async () => {
        const book = await session.create({ title: 'kept', author: 'kept', year: 1 })
        const reply = await session.call('PUT', `/book/${book.id}`, { text })
        assertResponse(reply, 400, 'Invalid input', null)
        await session.assertStored(book)
      })
    }

    it(`${ORDER}: authentication before existence and body`, async () => {
      const path = `/book/${await session.missingId()}`
      const { body } = await call(target, 'PUT', path, { text: '{' })
      assert.deepEqual(body, { status: 401, message: 'Authorization token required', data: null })
      assertResponse(await call(target, 'PUT', path, { text: '{', token: 'x' }), 401, 'Invalid token', null)
    })

    it(`${ORDER}: authentication before the body of an existing book`, async () => {
      const path = `/book/${(await session.create()).id}`
      assertResponse(
        await call(target, 'PUT', path, { text: '{' }),
        401,
        'Authorization token required',
        null,
      )
      assertResponse(await call(target, 'PUT', path, { text: '{', token: 'x' }), 401, 'Invalid token', null)
    })

    for (const text of ['', '{', '[]', '{"title":5}', '{"year":"1999"}']) {
      it(`${ORDER}: existence before the body ${text}`, async () => {
        const reply = await session.call('PUT', `/book/${await session.missingId()}`, { text })
        assertResponse(reply, 404, 'Book not found', null)
      })
    }
  })
}
