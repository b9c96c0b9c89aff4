import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Book, targets } from './client.ts'
import { NOVEL, useSession } from './session.ts'
import { EDGE_TEXTS } from './texts.ts'

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

const IGNORED: Record<string, string> = {
  'an id that no book has': '"id":9007199254740991',
  'an unknown field': '"isbn":"978-0-441-47812-5","tags":["a",{"b":null}]',
  'names of other case': '"Title":5,"YEAR":"x"',
  'names that mean something to JavaScript': '"__proto__":{"title":"x"},"constructor":5',
  'a key twice': '"title":"not this"',
}

const { MAX_SAFE_INTEGER, MIN_SAFE_INTEGER } = Number

const EDGES: readonly (readonly [name: string, fields: Partial<Book>])[] = [
  ...Object.entries(EDGE_TEXTS).map(([name, text]) => [name, { title: text, author: text }] as const),
  ...[MAX_SAFE_INTEGER, MIN_SAFE_INTEGER, 2 ** 32].map((year) => [`the year ${year}`, { year }] as const),
]

for (const target of targets())
  describe(`decisions on bodies (${target.name})`, () => {
    const session = useSession(target)

    async function expectInvalid(method: string, path: string, body: string, reason: string): Promise<void> {
      const text = Buffer.from(body, 'latin1')
      const message = path === '/token' ? 'Invalid request payload' : 'Invalid input'
      const { headers } = await session.expect(method, path, { text }, 400, message)
      assert.equal(headers.get('x-invalid-input'), reason, body)
    }

    it('decision: a field that is null, or not as §2 says, and no object, are 400 Invalid input, and X-Invalid-Input says why', async () => {
      const book = await session.create()
      const withMember = (member: string) => JSON.stringify(NOVEL).replace('}', `,${member}}`)
      const whole = WRONG_FIELDS.map(([member, reason]) => [withMember(member), reason] as const)
      for (const [text, reason] of [...WRONG_BODIES, ...whole]) {
        await expectInvalid('POST', '/book', text, reason)
        await expectInvalid('PUT', `/book/${book.id}`, text, reason)
      }
      for (const [member, reason] of WRONG_FIELDS)
        await expectInvalid('PUT', `/book/${book.id}`, `{${member}}`, reason)
      await session.assertStored(book)
      const path = `/book/${await session.missingId()}`
      const { headers } = await session.expect('PUT', path, { text: '{' }, 404, 'Book not found')
      assert.equal(headers.get('x-invalid-input'), null)
    })

    for (const [body, reason] of INCOMPLETE)
      it(`decision: a field missing in a POST is 400 Invalid input: ${reason}`, () =>
        expectInvalid('POST', '/book', body, reason))

    for (const [text, reason] of [
      ['{"username":1,"password":"p"}', 'username must be a string'],
      ['{"username":"u","password":["secret"]}', 'password must be a string'],
      ['{"username":"\xe9","password":"secret"}', NO_JSON],
      ['username=u&password=secret', NO_JSON],
    ] as const)
      it(`decision: X-Invalid-Input says why a login is 400, and repeats nothing of it: ${text}`, () =>
        expectInvalid('POST', '/token', text, reason))

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
        const text = JSON.stringify(NOVEL).replace('{', `{${member},`)
        const created = await session.call<Book>('POST', '/book', { text })
        const { id } = created.body.data
        assert.deepEqual(created.body.data, { id, ...NOVEL })
        assert.notEqual(id, MAX_SAFE_INTEGER)
        const book = { id, ...NOVEL, title: 'changed', year: 2000 }
        const changes = { text: `{${member},"title":"changed","year":2e3}` }
        await session.expect('PUT', `/book/${id}`, changes, 200, 'Book updated successfully', book)
        await session.assertStored(book)
      })

    it('decision: `id` in a body is ignored: that of another book', async () => {
      const [other, book] = [await session.create(), await session.create()]
      const { id } = await session.create({ id: other.id } as Partial<Book>)
      assert.ok(id !== other.id && id !== book.id)
      await session.update(book.id, { id: other.id, title: 'changed' }, { ...book, title: 'changed' })
      await session.assertStored(other)
    })

    it('decision: text is any well-formed Unicode without NUL, empty allowed; year is an integer within ±(2^53−1)', async () => {
      const other = await session.create()
      const books: Book[] = []
      for (const [name, fields] of EDGES) {
        const book = await session.create(fields)
        assert.deepEqual(book, { id: book.id, ...NOVEL, ...fields }, name)
        await session.assertStored(book)
        books.push(book)
        const updated = { ...book, id: other.id }
        await session.update(other.id, updated)
        await session.assertStored(updated)
      }
      const ids = new Set(books.map(({ id }) => id))
      const listed = (await session.list()).filter(({ id }) => ids.has(id))
      assert.deepEqual(listed, books)
    })
  })
