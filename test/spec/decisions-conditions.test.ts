import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, type Book, call, targets } from './client.ts'
import { exchange, keepOpen, receive, request } from './raw.ts'
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
  `W/${tag.slice(0, -1)}-gzip"`,
]

/** Values of the two headers that name no entity tag. */
const MALFORMED = ['other', '"other', "'other'", '*, *', 'w/"other"', '"a" "b"', '']

for (const target of targets()) {
  describe(`decisions on conditional requests (${target.name})`, () => {
    const session = useSession(target)

    /** Creates a book. @returns it, its path and its entity tag. */
    async function create(fields: Partial<Book> = {}) {
      const reply = await session.call<Book>('POST', '/book', { json: { ...NOVEL, ...fields } })
      assert.equal(reply.status, 201)
      const book = reply.body.data
      return { book, path: `/book/${book.id}`, tag: tagOf(reply) }
    }

    function tagOf({ headers }: { headers: Headers }): string {
      const tag = headers.get('etag') ?? ''
      assert.match(tag, STRONG_TAG)
      return tag
    }

    const put = (path: string, json: object, headers: Record<string, string>) =>
      session.call<Book>('PUT', path, { json, headers })

    /** Sends a request whose answer may have no body. */
    async function read(method: string, path: string, headers: Record<string, string>) {
      const response = await fetch(target.url + path, {
        method,
        headers: { authorization: session.token, ...headers },
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    }

    it('decision: POST, GET, HEAD and PUT of a book answer its strong entity tag, the same while the book is the same', async () => {
      const { path, tag } = await create()
      assert.equal(tagOf(await session.call('GET', path)), tag)
      assert.equal(tagOf(await read('HEAD', path, {})), tag)
      assert.equal(tagOf(await put(path, {}, {})), tag)
      const changed = tagOf(await put(path, { year: 2001 }, {}))
      assert.notEqual(changed, tag)
      assert.equal(tagOf(await session.call('GET', path)), changed)
      assert.equal(tagOf(await put(path, { year: NOVEL.year }, {})), tag, 'it depends on the fields alone')
    })

    for (const [name, text] of Object.entries(TEXTS)) {
      it(`decision: the entity tag of a 201 is good for If-Match: ${name}`, async () => {
        const { book, path, tag } = await create({ title: text, author: text })
        assert.equal(tagOf(await session.call('GET', path)), tag)
        const reply = await put(path, { year: 1 }, { 'if-match': tag })
        assertResponse(reply, 200, 'Book updated successfully', { ...book, year: 1 })
        const again = await put(path, { year: 2 }, { 'if-match': tag })
        assertResponse(again, 412, 'Precondition failed', null)
      })
    }

    for (const year of [0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
      it(`decision: the entity tag of a 201 is good for If-Match: the year ${year}`, async () => {
        const { book, path, tag } = await create({ year })
        const reply = await put(path, { title: 'changed' }, { 'if-match': tag })
        assertResponse(reply, 200, 'Book updated successfully', { ...book, title: 'changed' })
        const deleted = await session.call('DELETE', path, { headers: { 'if-match': tagOf(reply) } })
        assertResponse(deleted, 200, 'Book deleted successfully', null)
      })
    }

    it('decision: a text that differs in case or in a space at its end makes another entity tag', async () => {
      const tags = new Set<string>()
      for (const title of ['x', 'X', 'x ', ' x', '']) tags.add((await create({ title })).tag)
      assert.equal(tags.size, 5)
    })

    it('decision: GET and HEAD with an If-None-Match that matches are 304 with the entity tag and nothing else', async () => {
      const { path, tag } = await create()
      for (const list of [tag, ...changed(tag), `${OTHER}, ${tag}`, `${OTHER},W/${tag}`, '*']) {
        for (const method of ['GET', 'HEAD']) {
          const { status, headers, text } = await read(method, path, { 'if-none-match': list })
          assert.equal(status, 304, `${method} ${list}`)
          assert.equal(text, '')
          assert.equal(headers.get('etag'), tag)
          assert.equal(headers.get('content-type'), null)
          assert.equal(headers.get('content-length'), null)
          assert.equal(headers.get('transfer-encoding'), null)
        }
      }
    })

    it('decision: GET with an If-None-Match that does not match, or is malformed, answers the book', async () => {
      const { book, path, tag } = await create()
      for (const list of [OTHER, ...changed(OTHER), `${tag}x`, tag.slice(1), `*, ${tag}`, ...MALFORMED]) {
        const reply = await session.call('GET', path, { headers: { 'if-none-match': list } })
        assertResponse(reply, 200, 'Book retrieved successfully', book)
        assert.equal(tagOf(reply), tag)
      }
    })

    it('decision: a connection goes on after a 304', async () => {
      const { book, path, tag } = await create()
      const headers = [`Authorization: ${session.token}`]
      const first = keepOpen(request(target, 'GET', path, [...headers, `If-None-Match: ${tag}`]))
      const received = await receive(target, first + request(target, 'GET', path, headers))
      const [notModified = '', whole = '', body = ''] = received.toString().split('\r\n\r\n')
      assert.match(notModified, /^HTTP\/1\.1 304 /)
      assert.match(whole, /^HTTP\/1\.1 200 /)
      assert.deepEqual(JSON.parse(body).data, book)
    })

    it('decision: GET with an If-Match that does not match is 412 Precondition failed', async () => {
      const { book, path, tag } = await create()
      for (const list of [OTHER, ...changed(OTHER), ...MALFORMED]) {
        const reply = await session.call('GET', path, { headers: { 'if-match': list } })
        assertResponse(reply, 412, 'Precondition failed', null)
      }
      for (const list of [tag, ...changed(tag), '*', `${OTHER}, ${tag}`]) {
        const reply = await session.call('GET', path, { headers: { 'if-match': list } })
        assertResponse(reply, 200, 'Book retrieved successfully', book)
      }
      // RFC 9110 §13.2.2: If-Match comes first.
      const both = await read('GET', path, { 'if-match': OTHER, 'if-none-match': tag })
      assert.equal(both.status, 412)
      assert.equal((await read('GET', path, { 'if-match': tag, 'if-none-match': tag })).status, 304)
    })

    it('decision: PUT and DELETE with an If-Match that does not match are 412 Precondition failed, and change nothing', async () => {
      const { book, path, tag } = await create()
      for (const list of [OTHER, ...changed(OTHER), `${OTHER}, W/${OTHER}`, `${tag}, *`, ...MALFORMED]) {
        const headers = { 'if-match': list }
        assertResponse(await put(path, { year: 1 }, headers), 412, 'Precondition failed', null)
        assertResponse(await put(path, {}, headers), 412, 'Precondition failed', null)
        assertResponse(await session.call('DELETE', path, { headers }), 412, 'Precondition failed', null)
      }
      await session.assertStored(book)
    })

    it('decision: PUT and DELETE with an If-Match that matches are done', async () => {
      for (const list of [
        (tag: string) => tag,
        () => '*',
        (tag: string) => `${OTHER}, ${tag}`,
        (tag: string) => `W/${tag},${tag}`,
        ...changed(OTHER).map((_, i) => (tag: string) => changed(tag)[i] ?? ''),
      ]) {
        const { book, path, tag } = await create()
        const reply = await put(path, { title: 'changed' }, { 'if-match': list(tag) })
        assertResponse(reply, 200, 'Book updated successfully', { ...book, title: 'changed' })
        await session.assertStored({ ...book, title: 'changed' })
        const headers = { 'if-match': list(tagOf(reply)) }
        assertResponse(
          await session.call('DELETE', path, { headers }),
          200,
          'Book deleted successfully',
          null,
        )
        assertResponse(await session.call('GET', path), 404, 'Book not found', null)
      }
    })

    it('decision: a tag that a proxy has changed names the book as it was, and no later one', async () => {
      const { book, path, tag } = await create()
      const stored = { ...book, year: 1 }
      assertResponse(await put(path, { year: 1 }, {}), 200, 'Book updated successfully', stored)
      for (const list of [...changed(tag), changed(tag).join()]) {
        const reply = await put(path, { year: 2 }, { 'if-match': list })
        assertResponse(reply, 412, 'Precondition failed', null)
      }
      await session.assertStored(stored)
    })

    it('decision: PUT and DELETE with an If-None-Match that matches are 412 Precondition failed, and change nothing', async () => {
      const { book, path, tag } = await create()
      for (const list of [tag, ...changed(tag), '*', `${OTHER}, ${tag}`]) {
        const headers = { 'if-none-match': list }
        assertResponse(await put(path, { year: 1 }, headers), 412, 'Precondition failed', null)
        assertResponse(await session.call('DELETE', path, { headers }), 412, 'Precondition failed', null)
      }
      await session.assertStored(book)
      const headers = { 'if-none-match': OTHER }
      assertResponse(await put(path, {}, headers), 200, 'Book updated successfully', book)
      assertResponse(await session.call('DELETE', path, { headers }), 200, 'Book deleted successfully', null)
    })

    it('decision: several lines of If-Match and of If-None-Match are one list', async () => {
      const { book, path, tag } = await create()
      const send = (...lines: string[]) =>
        exchange(target, request(target, 'PUT', path, [`Authorization: ${session.token}`, ...lines], '{}'))
      const matching = await send(`If-Match: ${OTHER}`, `If-Match: ${tag}`)
      assertResponse(matching, 200, 'Book updated successfully', book)
      const other = await send(`If-Match: ${OTHER}`, 'If-Match: "another"')
      assertResponse(other, 412, 'Precondition failed', null)
      const none = await send(`If-None-Match: ${OTHER}`, `If-None-Match: ${tag}`)
      assertResponse(none, 412, 'Precondition failed', null)
    })

    for (const headers of [
      { 'if-match': OTHER },
      { 'if-match': '*' },
      { 'if-none-match': '*' },
      { 'if-none-match': OTHER },
    ]) {
      const condition = JSON.stringify(headers)

      it(`decision: conditions are checked last (RFC 9110 §13.2.1): a missing book is 404 also with ${condition}`, async () => {
        const path = `/book/${await session.missingId()}`
        assertResponse(await session.call('GET', path, { headers }), 404, 'Book not found', null)
        assertResponse(await put(path, { year: 1 }, headers), 404, 'Book not found', null)
        assertResponse(await session.call('PUT', path, { text: '{', headers }), 404, 'Book not found', null)
        assertResponse(await session.call('DELETE', path, { headers }), 404, 'Book not found', null)
        assertResponse(await session.call('GET', '/book/abc', { headers }), 404, 'Book not found', null)
      })

      it(`decision: conditions are checked last (RFC 9110 §13.2.1): 401 and 400 come before, with ${condition}`, async () => {
        const { book, path } = await create()
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const without = await call(target, method, path, { headers })
          assertResponse(without, 401, 'Authorization token required', null)
          assertResponse(
            await call(target, method, path, { headers, token: 'x' }),
            401,
            'Invalid token',
            null,
          )
        }
        for (const text of ['{', '', '[]', '{"year":"1"}']) {
          const reply = await session.call('PUT', path, { text, headers })
          assertResponse(reply, 400, 'Invalid input', null)
        }
        await session.assertStored(book)
      })
    }

    it('decision: two people who edit one book: the one who saves later is told so, reads again, and saves', async () => {
      const { book, path, tag } = await create()
      const first = await put(path, { title: 'by the first' }, { 'if-match': tag })
      assertResponse(first, 200, 'Book updated successfully', { ...book, title: 'by the first' })
      const later = await put(path, { title: 'by the second' }, { 'if-match': tag })
      assertResponse(later, 412, 'Precondition failed', null)
      const again = await session.call<Book>('GET', path)
      assertResponse(again, 200, 'Book retrieved successfully', { ...book, title: 'by the first' })
      const saved = await put(path, { author: 'by the second' }, { 'if-match': tagOf(again) })
      const both = { ...book, title: 'by the first', author: 'by the second' }
      assertResponse(saved, 200, 'Book updated successfully', both)
      await session.assertStored(both)
    })

    it('decision: of many who save one book at once with the same If-Match, one succeeds', async () => {
      const { book, path, tag } = await create()
      const years = Array.from({ length: 30 }, (_, i) => 3000 + i)
      const replies = await Promise.all(years.map((year) => put(path, { year }, { 'if-match': tag })))
      const saved = replies.filter(({ status }) => status === 200)
      assert.equal(saved.length, 1)
      assert.equal(replies.filter(({ status }) => status === 412).length, years.length - 1)
      await session.assertStored({ ...book, year: saved[0]?.body.data.year ?? 0 })
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

    it('decision: POST /book and GET /books take no notice of the conditions', async () => {
      const headers = { 'if-match': OTHER, 'if-none-match': '*' }
      const created = await session.call('POST', '/book', { json: NOVEL, headers })
      assertResponse(created, 201, 'Book created successfully')
      assertResponse(await session.call('GET', '/books', { headers }), 200, 'Books retrieved successfully')
    })
  })
}
