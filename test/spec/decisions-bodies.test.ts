import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Book, targets } from './client.ts'
import { NOVEL, useSession } from './session.ts'
import { EDGE_TEXTS } from './texts.ts'

const YEAR_RULE = 'year must be an integer from -9007199254740991 to 9007199254740991'
const TEXT_RULE = 'any well-formed Unicode text without NUL'
const NO_JSON = 'the body is not JSON in UTF-8, or has more values than a book'
const NO_OBJECT = 'the body must be a JSON object'

/** Members of the body of a POST, instead of those of a book, or the whole body; and what is said of it. */
const REFUSED: readonly (readonly [body: Record<string, string> | string, reason: string])[] = [
  ...['"1999"', 'true', 'null', '[]', '1.5', '1e16', '1e400', '-1e400', '9007199254740993'].map(
    (year) => [{ year }, YEAR_RULE] as const,
  ),
  [{ year: '9007199254740992' }, YEAR_RULE],
  [{ year: '-9007199254740992' }, YEAR_RULE],
  [{ title: '5' }, 'title must be a string'],
  [{ title: 'null' }, 'title must be a string'],
  [{ author: 'null' }, 'author must be a string'],
  [{ title: '"a\\u0000b"' }, `title must be ${TEXT_RULE}`],
  [{ author: '"\\ud83d\\r\\nX-Other: 1"' }, `author must be ${TEXT_RULE}`],
  [{ author: '"\\ude00\\ud83d"' }, `author must be ${TEXT_RULE}`],
  [{ title: '"\\ud83d\\ude00\\ud83d"' }, `title must be ${TEXT_RULE}`],
  ['{"author":"A","year":1}', 'title is missing'],
  ['{"title":"T","year":1}', 'author is missing'],
  ['{"title":"T","author":"A","Year\\r\\n":1}', 'year is missing'],
  ['{}', 'title is missing'],
  ['[]', NO_OBJECT],
  ['null', NO_OBJECT],
  ['', NO_OBJECT],
  ['{"title":', NO_JSON],
  ['title=T&author=A&year=1', NO_JSON],
]

/** Bytes that are not UTF-8, in a string. */
const NO_UTF8: Record<string, number[]> = {
  'a byte of Latin-1': [0xe9],
  'a surrogate in UTF-8': [0xed, 0xa0, 0x80],
  'an overlong NUL': [0xc0, 0x80],
  'a character that ends early': [0xf0, 0x9f, 0x98],
}

const IGNORED: Record<string, string> = {
  'an id that no book has': '"id":9007199254740991',
  'an id of the wrong type': '"id":"abc"',
  'an unknown field': '"isbn":"978-0-441-47812-5","tags":["a",{"b":null}]',
  'names of other case': '"Title":5,"YEAR":"x"',
  __proto__: '"__proto__":{"title":"polluted","year":"x"}',
  constructor: '"constructor":{"prototype":{"title":"polluted"}},"toString":null',
}

const { MAX_SAFE_INTEGER, MIN_SAFE_INTEGER } = Number

for (const target of targets())
  describe(`decisions on bodies (${target.name})`, () => {
    const session = useSession(target)

    const expectInvalid = (method: string, path: string, text: string | Uint8Array<ArrayBuffer>) =>
      session.expect(method, path, { text }, 400, 'Invalid input')

    for (const [body, reason] of REFUSED)
      it(`decision: a field missing, null, or not as §2 says is 400 Invalid input, and X-Invalid-Input says why: ${reason}, of ${JSON.stringify(body)}`, async () => {
        const isWhole = typeof body === 'string'
        const text = isWhole ? body : jsonObject({ ...jsonFields(NOVEL), ...body })
        const created = await expectInvalid('POST', '/book', text)
        assert.equal(created.headers.get('x-invalid-input'), reason)
        if (reason.endsWith('missing')) return
        const book = await session.create()
        const changes = isWhole ? body : jsonObject(body)
        for (const wrong of isWhole ? [body] : [changes, jsonObject({ title: '"changed"', ...body })]) {
          const updated = await expectInvalid('PUT', `/book/${book.id}`, wrong)
          assert.equal(updated.headers.get('x-invalid-input'), reason)
        }
        await session.assertStored(book)
        const path = `/book/${await session.missingId()}`
        const missing = await session.expect('PUT', path, { text }, 404, 'Book not found')
        assert.equal(missing.headers.get('x-invalid-input'), null)
      })

    for (const [text, reason] of [
      ['{"username":1,"password":"p"}', 'username must be a string'],
      ['{"username":"u","password":["secret"]}', 'password must be a string'],
      ['username=u&password=secret', NO_JSON],
    ] as const)
      it(`decision: X-Invalid-Input says why a login is 400, and repeats nothing of it: ${reason}`, async () => {
        const reply = await session.expect('POST', '/token', { text }, 400, 'Invalid request payload')
        assert.equal(reply.headers.get('x-invalid-input'), reason)
      })

    for (const [name, bytes] of Object.entries(NO_UTF8))
      it(`decision: text is well-formed Unicode: ${name} is 400`, async () => {
        const spoil = (json: object) => {
          const [start = '', end = ''] = JSON.stringify(json).split('#')
          return Buffer.concat([Buffer.from(start), Buffer.from(bytes), Buffer.from(end)])
        }
        const book = await session.create()
        await expectInvalid('POST', '/book', spoil({ ...NOVEL, title: '#' }))
        await expectInvalid('PUT', `/book/${book.id}`, spoil({ title: '#' }))
        await session.assertStored(book)
        const text = spoil({ username: '#', password: '' })
        await session.expect('POST', '/token', { text }, 400, 'Invalid request payload')
      })

    it('decision: a 201 has the address of the book in Location, relative to that of the request', async () => {
      const reply = await session.call<Book>('POST', '/book', { json: NOVEL })
      assert.equal(reply.headers.get('location'), `book/${reply.body.data.id}`)
    })

    it('decision: PUT `{}` is 200, the book unchanged', async () => {
      const book = await session.create()
      const path = `/book/${book.id}`
      await session.expect('PUT', path, { text: '{}' }, 200, 'Book updated successfully', book)
      await session.assertStored(book)
    })

    for (const [name, member] of Object.entries(IGNORED))
      it(`decision: \`id\` in a body; unknown fields are ignored: ${name}`, async () => {
        const text = `{${member},${jsonObject(jsonFields(NOVEL)).slice(1)}`
        const created = await session.expect<Book>(
          'POST',
          '/book',
          { text },
          201,
          'Book created successfully',
        )
        const { id } = created.body.data
        assert.deepEqual(created.body.data, { id, ...NOVEL })
        assert.notEqual(id, MAX_SAFE_INTEGER)
        const book = { id, ...NOVEL, year: 1 }
        const changes = { text: `{"year":1,${member}}` }
        await session.expect('PUT', `/book/${id}`, changes, 200, 'Book updated successfully', book)
        await session.assertStored(book)
      })

    it('decision: `id` in a body is ignored: that of another book', async () => {
      const [other, book] = [await session.create(), await session.create()]
      const { id } = await session.create({ id: other.id } as Partial<Book>)
      assert.ok(id !== other.id && id !== book.id)
      const json = { id: other.id, title: 'changed' }
      const updated = { ...book, title: 'changed' }
      await session.expect('PUT', `/book/${book.id}`, { json }, 200, 'Book updated successfully', updated)
      await session.assertStored(other)
    })

    for (const [name, fields] of [
      ...Object.entries(EDGE_TEXTS).map(([name, text]) => [name, { title: text, author: text }] as const),
      ...[MAX_SAFE_INTEGER, MIN_SAFE_INTEGER, 2 ** 31, 2 ** 32, -(2 ** 31) - 1, -753].map(
        (year) => [`the year ${year}`, { year }] as const,
      ),
    ])
      it(`decision: text is any well-formed Unicode without NUL, empty allowed; year is an integer within ±(2^53−1): ${name}`, async () => {
        const book = await session.create(fields)
        assert.deepEqual(book, { id: book.id, ...NOVEL, ...fields })
        await session.assertStored(book)
        const list = await session.call<Book[]>('GET', '/books')
        assert.deepEqual(
          list.body.data.find(({ id }) => id === book.id),
          book,
        )
        const other = { ...(await session.create()), ...fields }
        const path = `/book/${other.id}`
        await session.expect('PUT', path, { json: fields }, 200, 'Book updated successfully', other)
        await session.assertStored(other)
      })
  })

/** The fields of a book as JSON text, to be replaced by text that JSON.stringify would not write. */
function jsonFields(fields: object): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]))
}

function jsonObject(members: Record<string, string>): string {
  return `{${Object.entries(members).map(([name, text]) => `"${name}":${text}`)}}`
}
