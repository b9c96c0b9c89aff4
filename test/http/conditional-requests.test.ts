import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Book } from '../../src/catalogue/book.ts'
import { StoreUnavailable } from '../../src/catalogue/store.ts'
import { conditionalWrite, entityTag, ifMatch, ifNoneMatch } from '../../src/http/conditional-requests.ts'

const BOOK: Book = { id: 1, title: 'Dune', author: 'Frank Herbert', year: 1965 }
const TAG = entityTag(BOOK)

describe('the entity tag of a book (RFC 9110 §8.8.3)', () => {
  it('stays as it is from one version to the next, so that clients may keep it, whatever the id and the prototype', () => {
    assert.equal(TAG, '"DAyCssSu4_jT0DLi8Xk6hrRoTB8qCL792sKQXGK23Kw"')
    assert.equal(entityTag(Object.assign(Object.create(null), BOOK, { id: 2 })), TAG)
    assert.equal(entityTag({ ...BOOK, year: 0 }), entityTag({ ...BOOK, year: -0 }))
  })

  it('is another one when a character of a field is, or when text moves from one field to another', () => {
    const text = fc.constantFrom('', '1', '11', 'a', 'A', 'a ', 'á', 'a\u0301', '📚')
    const year = fc.constantFrom(0, 1, -1, 11, 111, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1)
    const fields = fc.record({ title: text, author: text, year })
    fc.assert(
      fc.property(fields, fields, (a, b) => {
        const isSame = a.title === b.title && a.author === b.author && a.year === b.year
        assert.equal(entityTag({ id: 1, ...a }) === entityTag({ id: 1, ...b }), isSame)
      }),
      { numRuns: 2000 },
    )
  })
})

/** The tag with an end that a proxy has put into it. */
const ended = (end: string) => `"${TAG.slice(1, -1)}${end}"`

/** The tag as Apache, Caddy, Jetty and others make it when they compress, and others that only look so. */
const NAMING = ['', '-gzip', '--br', ';zstd', '-deflate'].map(ended)
const OTHERS = [
  ...['x', '-gzi', '-gzip-', '---gzip', 'gzip', '-GZIP', '-identity'].map(ended),
  ...['""', '"-gzip"', TAG.toLowerCase()],
  // obs-text, and every other character that a tag may have.
  '"!#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~\u0080\u00ff"',
]
/** What is no entity tag, and leaves no list that has it well-formed. */
const BROKEN = ['x', '"', '**', 'w/""', 'W/ ""', '"a b"', '"a\u007f"', '\u00a0', '"a" "b"', TAG.slice(1)]

const match = (list: string) => ifMatch({ 'if-match': list }, TAG)
const noneMatch = (list: string) => ifNoneMatch({ 'if-none-match': list }, TAG)

describe('If-Match and If-None-Match', () => {
  it('find the tag in every list that is well-formed, wherever it stands, and in no other', () => {
    const weak = (tags: readonly string[]) => fc.constantFrom(...tags, ...tags.map((tag) => `W/${tag}`))
    const others = fc.array(fc.oneof(weak(OTHERS), fc.constant('')), { maxLength: 8 })
    const named = fc.option(weak(NAMING), { freq: 3 })
    const broken = fc.option(fc.constantFrom(...BROKEN), { freq: 3 })
    const comma = fc.constantFrom(',', ', ', ' ,', '\t,\t', ',,')
    const property = fc.property(others, named, broken, fc.nat(8), comma, (list, name, fault, at, by) => {
      const all = [name ?? '', ...list].toSpliced(at, 0, fault ?? '').join(by)
      const isThere = name !== null && fault === null
      assert.deepEqual([match(all), noneMatch(all)], [isThere, !isThere])
    })
    fc.assert(property, { numRuns: 5000 })
    const absent = [ifMatch({}, TAG), ifNoneMatch({}, TAG)]
    assert.deepEqual([match('*'), noneMatch('*'), ...absent], [true, false, true, true])
  })

  it('take time that is linear in the length of the header', () => {
    // So long that what is quadratic exceeds the time of a file of tests.
    const long = 1_000_000
    for (const part of [' ', '\t', ',', ' ,', '"', '""', '"",', 'W/', '"a"', '"a" ', '*', ', "', 'W/"'])
      for (const end of ['', '"', 'x', ',']) match(part.repeat(long / part.length) + end)
  })
})

it('a write with conditions decides again after the change of another, and gives up after ten', async () => {
  /** Others change the title of the book so many times between reading and writing. */
  async function write(changes: number) {
    const titles: unknown[] = []
    const find = async () => ({ ...BOOK, title: `change ${titles.length}` })
    const writing = conditionalWrite(
      { find },
      1,
      { 'if-none-match': '"other"' },
      async (expected) => titles.push(expected?.title) > changes && expected,
    )
    return { titles, result: await writing.catch((error: unknown) => error) }
  }
  const written = { ...BOOK, title: 'change 1' }
  assert.deepEqual(await write(1), { titles: ['change 0', 'change 1'], result: written })
  const { titles, result } = await write(10)
  assert.equal(titles.length, 10)
  assert.ok(result instanceof StoreUnavailable && result.reason === 'conflict' && result.nothingWritten)
})
