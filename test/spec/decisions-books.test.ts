import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Book, targets } from './client.ts'
import { NOVEL, useSession } from './session.ts'
import { EDGE_TEXTS } from './texts.ts'

/** Ids that are not canonical, among them spellings of the id of a book that exists, and that no book has. */
const noIds = (id: number) => [
  ...[`${id}.0`, `0${id}`, `+${id}`, String(id).replaceAll(/\d/g, '%3$&')],
  ...[2n ** 53n + BigInt(id), 2n ** 64n + BigInt(id), 2n ** 53n, 2n ** 53n - 1n],
  ...['abc', '0', '%C3%28', '1'.repeat(5000)],
]

const YEAR_RULE = 'year must be an integer from -9007199254740991 to 9007199254740991'
const TEXT_RULE = 'any well-formed Unicode text without NUL'
const NO_JSON = 'the body is not JSON in UTF-8, or has more values than a book'
const NO_OBJECT = 'the body must be a JSON object'

/** Members that make a body wrong, what is said of it, and the same of whole bodies. Each character is a byte. */
const WRONG_FIELDS: readonly (readonly [member: string, reason: string])[] = [
  ['"year":null', YEAR_RULE],
  ['"year":1.5', YEAR_RULE],
  ['"year":-1e400', YEAR_RULE],
  ['"year":9007199254740992', YEAR_RULE],
  ['"year":-9007199254740992', YEAR_RULE],
  ['"title":5', 'title must be a string'],
  ['"author":null', 'author must be a string'],
  ['"title":"a\\u0000b"', `title must be ${TEXT_RULE}`],
  ['"author":"\\ud83d\\r\\nX-Other: 1"', `author must be ${TEXT_RULE}`],
  // Not UTF-8, but Latin-1, and a surrogate.
  ['"title":"\xe9"', NO_JSON],
  ['"title":"\xed\xa0\x80"', NO_JSON],
]
const WRONG_BODIES = [
  ['[]', NO_OBJECT],
  ['', NO_OBJECT],
  ['{"title":', NO_JSON],
  ['title=T&author=A&year=1', NO_JSON],
] as const

const INCOMPLETE = [
  ['{"author":"A","year":1}', 'title is missing'],
  ['{"title":"T","year":1}', 'author is missing'],
  ['{"title":"T","author":"A","Year\\r\\n":1}', 'year is missing'],
] as const

/** Beside the fields of a book; @ is the id of another one. */
const IGNORED: Record<string, string> = {
  'an id': '"id":@',
  'an unknown field': '"isbn":"978-0-441-47812-5","tags":["a",{"b":null}]',
  'names of other case': '"Title":5,"YEAR":"x"',
  'names that mean something to JavaScript': '"__proto__":{"title":"x"},"constructor":5,"toJSON":1',
  'a key twice': '"title":"not this"',
}

const { MAX_SAFE_INTEGER, MIN_SAFE_INTEGER } = Number

const EDGES: readonly (readonly [name: string, fields: Partial<Book>])[] = [
  ...Object.entries(EDGE_TEXTS).map(([name, text]) => [name, { title: text, author: text }] as const),
  ...[MAX_SAFE_INTEGER, MIN_SAFE_INTEGER, 2 ** 32].map((year) => [`the year ${year}`, { year }] as const),
]

for (const target of targets())
  describe(`decisions on books (${target.name})`, () => {
    const session = useSession(target)

    async function expectInvalid(method: string, path: string, body: string, reason: string): Promise<void> {
      const text = Buffer.from(body, 'latin1')
      const { headers } = await session.expect(method, path, { text }, 400, 'Invalid input')
      assert.equal(headers.get('x-invalid-input'), reason, body)
    }

    it('decision: POST without one of the fields, a field that is null or not as §2 says, and no object are 400 Invalid input, and X-Invalid-Input says why', async () => {
      const book = await session.create()
      const withMember = (member: string) => JSON.stringify(NOVEL).replace('}', `,${member}}`)
      const whole = WRONG_FIELDS.map(([member, reason]) => [withMember(member), reason] as const)
      for (const [text, reason] of [...WRONG_BODIES, ...whole]) {
        await expectInvalid('POST', '/book', text, reason)
        await expectInvalid('PUT', `/book/${book.id}`, text, reason)
      }
      for (const [member, reason] of WRONG_FIELDS)
        await expectInvalid('PUT', `/book/${book.id}`, `{${member}}`, reason)
      for (const [text, reason] of INCOMPLETE) await expectInvalid('POST', '/book', text, reason)
      await session.assertStored(book)
      const path = `/book/${await session.missingId()}`
      const { headers } = await session.expect('PUT', path, { text: '{' }, 404, 'Book not found')
      assert.equal(headers.get('x-invalid-input'), null)
    })

    it('decision: a 201 has the address of the book in Location, relative to that of the request', async () => {
      const reply = await session.call<Book>('POST', '/book', { json: NOVEL })
      assert.equal(reply.headers.get('location'), `book/${reply.body.data.id}`)
    })

    it('decision: PUT `{}` is 200, the book unchanged', async () => {
      const book = await session.create()
      await session.update(book.id, {}, book)
      await session.assertStored(book)
    })

    for (const [name, member] of Object.entries(IGNORED))
      it(`decision: \`id\` in a body; unknown fields; all but the last of a key are ignored: ${name}`, async () => {
        const other = await session.create()
        const ignored = member.replace('@', String(other.id))
        const text = JSON.stringify(NOVEL).replace('{', `{${ignored},`)
        const { id, ...created } = (await session.call<Book>('POST', '/book', { text })).body.data
        assert.deepEqual(created, NOVEL)
        assert.notEqual(id, other.id)
        const book = { id, ...NOVEL, title: 'changed', year: 2000 }
        const changes = { text: `{${ignored},"title":"changed","year":2e3}` }
        await session.expect('PUT', `/book/${id}`, changes, 200, 'Book updated successfully', book)
        await session.assertStored(book)
        await session.assertStored(other)
      })

    it('decision: text is any well-formed Unicode without NUL, empty allowed; year is an integer within ±(2^53−1)', async () => {
      const other = await session.create()
      for (const [name, fields] of EDGES) {
        const book = await session.create(fields)
        assert.deepEqual(book, { id: book.id, ...NOVEL, ...fields }, name)
        await session.assertStored(book)
        const updated = { ...book, id: other.id }
        await session.update(other.id, updated)
        await session.assertStored(updated)
      }
    })

    it('decision: `:id` not a canonical decimal integer from 1 to 2^53−1, or of no book, is 404 Book not found on GET, PUT and DELETE: after the token, before the body', async () => {
      const book = await session.create()
      for (const id of noIds(book.id))
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const body = method === 'PUT' ? { text: '{' } : {}
          await session.expect(method, `/book/${id}`, { ...body, token: 'x' }, 401, 'Invalid token')
          await session.expect(method, `/book/${id}`, body, 404, 'Book not found', null)
        }
      await session.assertStored(book)
    })

    it('decision: DELETE of a missing id is 404 Book not found: of several at once, one succeeds; their body is ignored', async () => {
      const { id } = await session.create()
      const send = () => session.call('DELETE', `/book/${id}`, { text: '{' })
      const replies = await Promise.all([1, 2, 3, 4].map(send))
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
