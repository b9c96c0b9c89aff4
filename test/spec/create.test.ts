import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NOT_AN_OBJECT, WRONG_TYPE } from './bodies.ts'
import { assertResponse, type Book, call, targets } from './client.ts'
import { NOVEL, useSession } from './session.ts'
import { TEXTS } from './texts.ts'

for (const target of targets()) {
  describe(`create (${target.name})`, () => {
    const session = useSession(target)

    it('§4 POST /book: "success" is 201 Book created successfully with "created Book including assigned `id`"', async () => {
      const reply = await session.call<Book>('POST', '/book', { json: NOVEL })
      assertResponse(reply, 201, 'Book created successfully', { id: reply.body.data.id, ...NOVEL })
    })

    it('§2 Book: `id` is an "unsigned integer", "primary key, assigned by the service on create"', async () => {
      const { id } = await session.create()
      assert.ok(Number.isSafeInteger(id) && id >= 0, `id is ${JSON.stringify(id)}`)
    })

    it('§4 rule 1: "The id of a created book is assigned by the service.": equal books get ids of their own', async () => {
      const [first, second] = [await session.create(), await session.create()]
      assert.notEqual(first.id, second.id)
      await session.assertStored(first)
      await session.assertStored(second)
    })

    it('§4 rule 1: "The id of a created book is assigned by the service.": also when many are created at once', async () => {
      const years = Array.from({ length: 20 }, (_, i) => 2000 + i)
      const books = await Promise.all(years.map((year) => session.create({ year })))
      assert.equal(new Set(books.map((book) => book.id)).size, years.length)
      assert.deepEqual(
        books.map((book) => book.year),
        years,
      )
      await Promise.all(books.map((book) => session.assertStored(book)))
    })

    it('§4 rule 5: "A created book appears in GET `/books` and is retrievable by GET `/book/:id`.": the same book as in the 201', async () => {
      const book = await session.create()
      await session.assertStored(book)
      const list = await session.call<Book[]>('GET', '/books')
      assert.deepEqual(
        list.body.data.filter(({ id }) => id === book.id),
        [book],
      )
    })

    for (const [name, text] of Object.entries(TEXTS)) {
      it(`§2 Book: \`title\` and \`author\` are strings "supplied by the client": ${name}`, async () => {
        const book = await session.create({ title: text, author: `by ${text}` })
        assert.deepEqual(book, { id: book.id, title: text, author: `by ${text}`, year: NOVEL.year })
        await session.assertStored(book)
      })
    }

    for (const year of [0, 1, 1999, 9999, 2 ** 31 - 1]) {
      it(`§2 Book: \`year\` is an integer "supplied by the client": ${year}`, async () => {
        const book = await session.create({ year })
        assert.equal(book.year, year)
        await session.assertStored(book)
      })
    }

    for (const [name, text] of Object.entries({ ...NOT_AN_OBJECT, ...WRONG_TYPE })) {
      it(`§4 POST /book: "body cannot be read as a Book" is 400 Invalid input: ${name}`, async () => {
        assertResponse(await session.call('POST', '/book', { text }), 400, 'Invalid input', null)
      })
    }

    it('§4 POST /book: "body cannot be read as a Book": nothing is created', async () => {
      const title = `unreadable ${Math.random()}`
      const reply = await session.call('POST', '/book', { json: { ...NOVEL, title, year: '1969' } })
      assertResponse(reply, 400, 'Invalid input', null)
      const list = await session.call<Book[]>('GET', '/books')
      assert.ok(!list.body.data.some((book) => book.title === title))
    })

    it('§5.5: authentication comes before the body: without a token, a body that cannot be read is 401', async () => {
      assertResponse(await call(target, 'POST', '/book', { text: '{' }), 401, 'Authorization token required')
      assertResponse(await call(target, 'POST', '/book', { text: '{', token: 'x' }), 401, 'Invalid token')
    })
  })
}
