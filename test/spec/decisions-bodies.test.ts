import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, type Book, call, targets } from './client.ts'
import { NOVEL, useSession } from './session.ts'
import { EDGE_TEXTS } from './texts.ts'

const NO_YEARS = [
  '9007199254740992',
  '-9007199254740992',
  '9007199254740993',
  '1e16',
  '1e400',
  '-1e400',
  '1.5',
]
const NO_VALUES = ['"1999"', '"x"', 'true', 'null', '[]', '{}']
const YEARS = [
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  2 ** 31,
  2 ** 32,
  -(2 ** 31) - 1,
  -753,
  -1,
  0,
]

/** JSON strings that stand for text with NUL or a lone surrogate. */
const NO_TEXTS: Record<string, string> = {
  NUL: '"\\u0000"',
  'NUL in the middle': '"a\\u0000b"',
  'a lone high surrogate': '"\\ud83d"',
  'a lone low surrogate': '"\\ude00"',
  'surrogates the wrong way round': '"\\ude00\\ud83d"',
  'a high surrogate before a letter': '"\\ud83dx"',
  'a pair and a lone surrogate': '"\\ud83d\\ude00\\ud83d"',
}

/** Bytes that are not UTF-8, in a string. */
const NO_UTF8: Record<string, number[]> = {
  'a byte of Latin-1': [0xe9],
  'a surrogate in UTF-8': [0xed, 0xa0, 0x80],
  'an overlong NUL': [0xc0, 0x80],
  'a character that ends early': [0xf0, 0x9f, 0x98],
}

const YEAR_RULE = 'year must be an integer from -9007199254740991 to 9007199254740991'
const TEXT_RULE = 'any well-formed Unicode text without NUL'

/** Members of the body of a POST, instead of those of a book, or the whole body; and what is said of it. */
const REASONS: readonly (readonly [body: Record<string, string> | string, reason: string])[] = [
  [{ year: '"1969"' }, YEAR_RULE],
  [{ year: '1.5' }, YEAR_RULE],
  [{ year: '1e16' }, YEAR_RULE],
  [{ year: 'null' }, YEAR_RULE],
  [{ title: '5' }, 'title must be a string'],
  [{ author: 'null' }, 'author must be a string'],
  [{ title: '"\\u0000"' }, `title must be ${TEXT_RULE}`],
  [{ author: '"\\ud83d\\r\\nX-Other: 1"' }, `author must be ${TEXT_RULE}`],
  ['{"author":"A","year":1}', 'title is missing'],
  ['{"title":"T","author":"A","Year\\r\\n":1}', 'year is missing'],
  ['[]', 'the body must be a JSON object'],
  ['null', 'the body must be a JSON object'],
  ['', 'the body must be a JSON object'],
  ['{"title":', 'the body is not JSON in UTF-8, or has more values than a book'],
  ['title=T&author=A&year=1', 'the body is not JSON in UTF-8, or has more values than a book'],
]

const IGNORED: Record<string, string> = {
  'an id that no book has': '"id":9007199254740991',
  'an id of the wrong type': '"id":"abc"',
  'an id of null': '"id":null',
  'an unknown field': '"isbn":"978-0-441-47812-5","tags":["a",{"b":null}]',
  'names of other case': '"Title":5,"YEAR":"x"',
  __proto__: '"__proto__":{"title":"polluted","year":"x"}',
  constructor: '"constructor":{"prototype":{"title":"polluted"}},"toString":null',
}

for (const target of targets()) {
  describe(`decisions on bodies (${target.name})`, () => {
    const session = useSession(target)

    /** Checks that neither POST nor PUT takes the members: JSON text for the fields of a book. */
    async function assertRefused(members: Record<string, string>): Promise<void> {
      const text = jsonObject(members)
      const book = await session.create()
      const created = { ...jsonFields(NOVEL), ...members }
      assertResponse(
        await session.call('POST', '/book', { text: jsonObject(created) }),
        400,
        'Invalid input',
        null,
      )
      assertResponse(await session.call('PUT', `/book/${book.id}`, { text }), 400, 'Invalid input', null)
      await session.assertStored(book)
    }

    for (const field of ['title', 'author', 'year']) {
      it(`decision: POST /book with a field missing or null is 400 Invalid input: ${field} missing`, async () => {
        const { [field]: _missing, ...others } = jsonFields(NOVEL)
        const reply = await session.call('POST', '/book', { text: jsonObject(others) })
        assertResponse(reply, 400, 'Invalid input', null)
      })

      it(`decision: POST /book with a field missing or null, or PUT with a null field is 400 Invalid input: ${field} null`, () =>
        assertRefused({ [field]: 'null' }))

      it(`decision: PUT with a null field changes no other field: ${field} null`, async () => {
        const book = await session.create()
        const json = { title: 'changed', author: 'changed', year: 1, [field]: null }
        assertResponse(await session.call('PUT', `/book/${book.id}`, { json }), 400, 'Invalid input', null)
        await session.assertStored(book)
      })
    }

    for (const [body, reason] of REASONS) {
      it(`decision: X-Invalid-Input says why a body is 400: ${reason}, of ${JSON.stringify(body)}`, async () => {
        const isWhole = typeof body === 'string'
        const text = isWhole ? body : jsonObject({ ...jsonFields(NOVEL), ...body })
        const created = await session.call('POST', '/book', { text })
        assertResponse(created, 400, 'Invalid input', null)
        assert.equal(created.headers.get('x-invalid-input'), reason)
        if (reason.endsWith('missing')) return
        const { id } = await session.create()
        const updated = await session.call('PUT', `/book/${id}`, { text: isWhole ? body : jsonObject(body) })
        assertResponse(updated, 400, 'Invalid input', null)
        assert.equal(updated.headers.get('x-invalid-input'), reason)
        const missing = await session.call('PUT', `/book/${await session.missingId()}`, { text })
        assertResponse(missing, 404, 'Book not found', null)
        assert.equal(missing.headers.get('x-invalid-input'), null)
      })
    }

    for (const [text, reason] of [
      ['{"username":1,"password":"p"}', 'username must be a string'],
      ['{"username":"u","password":["secret"]}', 'password must be a string'],
      ['username=u&password=secret', 'the body is not JSON in UTF-8, or has more values than a book'],
    ] as const)
      it(`decision: X-Invalid-Input says why a login is 400, and repeats nothing of it: ${reason}`, async () => {
        const reply = await call(target, 'POST', '/token', { text })
        assertResponse(reply, 400, 'Invalid request payload', null)
        assert.equal(reply.headers.get('x-invalid-input'), reason)
      })

    it('decision: a 201 has the address of the book in Location, relative to that of the request', async () => {
      const reply = await session.call<Book>('POST', '/book', { json: NOVEL })
      assert.equal(reply.headers.get('location'), `book/${reply.body.data.id}`)
      const { pathname } = new URL(reply.headers.get('location') ?? '', `${target.url}/book`)
      assertResponse(await session.call('GET', pathname), 200, 'Book retrieved successfully', reply.body.data)
    })

    for (const text of ['{}', 'null']) {
      it(`decision: POST /book with every field missing is 400 Invalid input: ${text}`, async () => {
        assertResponse(await session.call('POST', '/book', { text }), 400, 'Invalid input', null)
      })
    }

    it('decision: PUT `{}` is 200, the book unchanged', async () => {
      const book = await session.create()
      const reply = await session.call('PUT', `/book/${book.id}`, { text: '{}' })
      assertResponse(reply, 200, 'Book updated successfully', book)
      await session.assertStored(book)
    })

    it('§4 PUT /book/:id: "body cannot be read as a Book" is 400 Invalid input: null', async () => {
      const { id } = await session.create()
      assertResponse(await session.call('PUT', `/book/${id}`, { text: 'null' }), 400, 'Invalid input', null)
    })

    it('§4 POST /book: "body cannot be read as a Book" is 400 Invalid input: more after the JSON', async () => {
      const text = JSON.stringify(NOVEL)
      for (const more of ['x', text, ',', '}']) {
        assertResponse(await session.call('POST', '/book', { text: text + more }), 400, 'Invalid input', null)
      }
    })

    for (const [name, member] of Object.entries(IGNORED)) {
      it(`decision: \`id\` in a body; unknown fields are ignored: ${name}`, async () => {
        const text = `{${member},${jsonObject(jsonFields(NOVEL)).slice(1)}`
        const created = await session.call<Book>('POST', '/book', { text })
        const { id } = created.body.data
        assertResponse(created, 201, 'Book created successfully', { id, ...NOVEL })
        assert.notEqual(id, Number.MAX_SAFE_INTEGER)
        const updated = await session.call('PUT', `/book/${id}`, { text: `{"year":1,${member}}` })
        assertResponse(updated, 200, 'Book updated successfully', { id, ...NOVEL, year: 1 })
        await session.assertStored({ id, ...NOVEL, year: 1 })
      })
    }

    it('decision: `id` in a body is ignored: that of another book', async () => {
      const [other, book] = [await session.create(), await session.create()]
      const json = { ...NOVEL, id: other.id, title: 'changed' }
      const created = await session.call<Book>('POST', '/book', { json })
      const { id } = created.body.data
      assertResponse(created, 201, 'Book created successfully', { ...NOVEL, title: 'changed', id })
      assert.ok(id !== other.id && id !== book.id)
      const updated = await session.call('PUT', `/book/${book.id}`, { json })
      assertResponse(updated, 200, 'Book updated successfully', { ...book, title: 'changed' })
      await session.assertStored(other)
    })

    for (const [name, text] of Object.entries(EDGE_TEXTS)) {
      it(`decision: text is any well-formed Unicode without NUL, empty allowed: ${name}`, async () => {
        const book = await session.create({ title: text, author: text })
        assert.deepEqual(book, { id: book.id, title: text, author: text, year: NOVEL.year })
        await session.assertStored(book)
        const list = await session.call<Book[]>('GET', '/books')
        assert.deepEqual(
          list.body.data.find(({ id }) => id === book.id),
          book,
        )
        const other = await session.create()
        const reply = await session.call('PUT', `/book/${other.id}`, { json: { title: text } })
        assertResponse(reply, 200, 'Book updated successfully', { ...other, title: text })
        await session.assertStored({ ...other, title: text })
      })
    }

    for (const [name, text] of Object.entries(NO_TEXTS)) {
      it(`decision: NUL or a lone surrogate is 400 Invalid input: ${name}`, async () => {
        await assertRefused({ title: text })
        await assertRefused({ author: text })
      })
    }

    for (const [name, bytes] of Object.entries(NO_UTF8)) {
      it(`decision: text is well-formed Unicode: ${name} is 400`, async () => {
        const spoil = (json: object) => {
          const [start = '', end = ''] = JSON.stringify(json).split('#')
          return { text: Buffer.concat([Buffer.from(start), Buffer.from(bytes), Buffer.from(end)]) }
        }
        const book = await session.create()
        const body = spoil({ ...NOVEL, title: '#' })
        assertResponse(await session.call('POST', '/book', body), 400, 'Invalid input', null)
        assertResponse(await session.call('PUT', `/book/${book.id}`, body), 400, 'Invalid input', null)
        await session.assertStored(book)
        const login = await call(target, 'POST', '/token', spoil({ username: '#', password: '' }))
        assertResponse(login, 400, 'Invalid request payload', null)
      })
    }

    for (const year of YEARS) {
      it(`decision: year is an integer within ±(2^53−1); negative years are fine: ${year}`, async () => {
        const book = await session.create({ year })
        assert.equal(book.year, year)
        await session.assertStored(book)
        const other = await session.create()
        const reply = await session.call('PUT', `/book/${other.id}`, { json: { year } })
        assertResponse(reply, 200, 'Book updated successfully', { ...other, year })
        await session.assertStored({ ...other, year })
      })
    }

    for (const year of [...NO_YEARS, ...NO_VALUES]) {
      it(`decision: year is an integer within ±(2^53−1), or else 400 Invalid input: ${year}`, () =>
        assertRefused({ year }))
    }
  })
}

/** The fields of a book as JSON text, to be replaced by text that JSON.stringify would not write. */
function jsonFields(fields: object): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]))
}

function jsonObject(members: Record<string, string>): string {
  return `{${Object.entries(members).map(([name, text]) => `"${name}":${text}`)}}`
}
