import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, type Book, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { NOVEL, useSession } from './session.ts'
import { TEXTS } from './texts.ts'

/** RFC 9110 §8.8.3, without the prefix of weak ones. */
const STRONG_TAG = /^"[\x21\x23-\x7e]+"$/

/** What no book has for its entity tag. */
const OTHER = '"other"'

/** What proxies that compress make of a strong entity tag: nginx and Cloudflare; Apache and Caddy; Jetty. */
const changed = (tag: string) => [
  `W/${tag}`,
  ...['-gzip', '-br', '-zstd', '-deflate', '--gzip', ';gzip'].map((end) => `${tag.slice(0, -1)}${end}"`),
]

/** Values of the two headers that name the tag, and others that do not. */
const naming = (tag: string) => [tag, '*', `${OTHER},W/${tag}`, ...changed(tag)]
const notNaming = (tag: string) => [
  ...[OTHER, 'other', '"other', '"a" "b"', '', ...changed(OTHER), `${tag}x`, tag.slice(1), `*, ${tag}`],
]

const FAILED = 'Precondition failed'
const RETRIEVED = 'Book retrieved successfully'
const UPDATED = 'Book updated successfully'
const DELETED = 'Book deleted successfully'

for (const target of targets())
  describe(`decisions on conditional requests (${target.name})`, () => {
    const session = useSession(target)

    function tagOf({ headers }: { headers: Headers }): string {
      const tag = headers.get('etag') ?? ''
      assert.match(tag, STRONG_TAG)
      return tag
    }

    /** Creates a book. @returns it, its path and its entity tag. */
    async function create(fields: Partial<Book> = {}) {
      const reply = await session.call<Book>('POST', '/book', { json: { ...NOVEL, ...fields } })
      const book = reply.body.data
      return { book, path: `/book/${book.id}`, tag: tagOf(reply) }
    }

    const put = (path: string, json: object, headers: Record<string, string> = {}) =>
      session.call<Book>('PUT', path, { json, headers })

    it('decision: POST, GET, HEAD and PUT of a book answer its strong entity tag, the same while the book is the same', async () => {
      const { path, tag } = await create()
      assert.equal(tagOf(await session.call('GET', path)), tag)
      assert.equal(tagOf(await session.fetch(path, {}, 'HEAD')), tag)
      assert.equal(tagOf(await put(path, {})), tag)
      const updated = tagOf(await put(path, { year: 2001 }))
      assert.notEqual(updated, tag)
      assert.equal(tagOf(await session.call('GET', path)), updated)
      assert.equal(tagOf(await put(path, { year: NOVEL.year })), tag, 'it depends on the fields alone')
      const tags = new Set<string>()
      for (const title of ['x', 'X', 'x ', ' x', '']) tags.add((await create({ title })).tag)
      assert.equal(tags.size, 5)
    })

    it('decision: GET and HEAD with an If-None-Match that matches are 304 with the entity tag and nothing else', async () => {
      const { path, tag } = await create()
      for (const list of naming(tag))
        for (const method of ['GET', 'HEAD']) {
          const response = await session.fetch(path, { 'if-none-match': list }, method)
          assert.deepEqual([response.status, await response.text()], [304, ''], `${method} ${list}`)
          assert.equal(response.headers.get('etag'), tag)
          for (const field of ['content-type', 'content-length', 'transfer-encoding'])
            assert.equal(response.headers.get(field), null)
        }
    })

    it('decision: GET with an If-None-Match that does not match, or is malformed, answers the book, and with such an If-Match is 412', async () => {
      const { book, path, tag } = await create()
      for (const list of notNaming(tag)) {
        const headers = { 'if-none-match': list }
        assert.equal(tagOf(await session.expect('GET', path, { headers }, 200, RETRIEVED, book)), tag)
        await session.expect('GET', path, { headers: { 'if-match': list } }, 412, FAILED)
      }
      // RFC 9110 §13.2.2: If-Match comes first.
      for (const [match, status] of [
        [OTHER, 412],
        [tag, 304],
      ] as const)
        assert.equal((await session.fetch(path, { 'if-match': match, 'if-none-match': tag })).status, status)
    })

    it('decision: PUT and DELETE with a condition that does not hold are 412 Precondition failed, and change nothing', async () => {
      const { book, path, tag } = await create()
      for (const headers of [
        ...notNaming(tag).map((list) => ({ 'if-match': list })),
        ...naming(tag).map((list) => ({ 'if-none-match': list })),
      ]) {
        assertResponse(await put(path, { year: 1 }, headers), 412, FAILED)
        assertResponse(await put(path, {}, headers), 412, FAILED)
        await session.expect('DELETE', path, { headers }, 412, FAILED)
      }
      await session.assertStored(book)
    })

    for (const [i, [name, text]] of Object.entries(TEXTS).entries())
      it(`decision: PUT and DELETE with a condition that holds are done, whatever the book: ${name}`, async () => {
        const { book, path, tag } = await create({ title: text, author: text })
        assert.equal(tagOf(await session.call('GET', path)), tag)
        const holding = (now: string) => ({ 'if-match': naming(now)[i] ?? now, 'if-none-match': OTHER })
        const updated = { ...book, title: 'changed' }
        const reply = await put(path, { title: 'changed' }, holding(tag))
        assertResponse(reply, 200, UPDATED, updated)
        await session.assertStored(updated)
        // No form of the earlier tag names the book as it is now.
        const outdated = [tag, ...changed(tag)].join()
        assertResponse(await put(path, { year: 2 }, { 'if-match': outdated }), 412, FAILED)
        await session.expect('DELETE', path, { headers: holding(tagOf(reply)) }, 200, DELETED)
        await session.expect('GET', path, {}, 404, 'Book not found')
      })

    it('decision: several lines of If-Match and of If-None-Match are one list', async () => {
      const { path, tag } = await create()
      for (const [lines, status, message] of [
        [[`If-Match: ${OTHER}`, `If-Match: ${tag}`], 200, UPDATED],
        [[`If-Match: ${OTHER}`, 'If-Match: "another"'], 412, FAILED],
        [[`If-None-Match: ${OTHER}`, `If-None-Match: ${tag}`], 412, FAILED],
      ] as const) {
        const headers = [`Authorization: ${session.token}`, ...lines]
        assertResponse(await exchange(target, request(target, 'PUT', path, headers, '{}')), status, message)
      }
    })

    it('decision: conditions are checked last (RFC 9110 §13.2.1): after 404, 401 and 400; POST /book and GET /books take no notice of them', async () => {
      const missing = `/book/${await session.missingId()}`
      const { book, path } = await create()
      for (const headers of [{ 'if-match': OTHER }, { 'if-match': '*' }, { 'if-none-match': '*' }]) {
        for (const method of ['GET', 'PUT', 'DELETE']) {
          await session.expect(method, missing, { headers }, 404, 'Book not found')
          await session.expect(method, path, { headers, token: 'x' }, 401, 'Invalid token')
        }
        for (const text of ['{', '', '{"year":"1"}'])
          await session.expect('PUT', path, { text, headers }, 400, 'Invalid input')
        await session.expect('POST', '/book', { json: NOVEL, headers }, 201, 'Book created successfully')
        await session.expect('GET', '/books', { headers }, 200, 'Books retrieved successfully')
      }
      await session.assertStored(book)
    })

    it('decision: of many who change and one who deletes one book at once with the same If-Match, one succeeds', async () => {
      // A DELETE, which has no body, overtakes those that were sent before it.
      for (let deletion = 0; deletion < 20; deletion += 4) {
        const { path, tag } = await create()
        const headers = { 'if-match': tag }
        const replies = await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            i === deletion
              ? session.call('DELETE', path, { headers })
              : put(path, { year: 3000 + i }, headers),
          ),
        )
        const done = replies.findIndex(({ status }) => status === 200)
        const statuses = new Set(replies.filter((_, i) => i !== done).map(({ status }) => status))
        assert.deepEqual([...statuses], [done === deletion ? 404 : 412])
      }
    })
  })
