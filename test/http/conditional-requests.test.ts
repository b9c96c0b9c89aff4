import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import fc from 'fast-check'
import type { Book, BookChanges } from '../../src/catalogue/book.ts'
import { type Store, StoreUnavailable } from '../../src/catalogue/store.ts'
import {
  conditionalWrite,
  entityTag,
  hasPreconditions,
  ifMatch,
  ifNoneMatch,
  type Preconditions,
} from '../../src/http/conditional-requests.ts'
import { failure } from '../../src/http/envelope.ts'
import { newFile, openFile } from '../store/sqlite/file.ts'

const BOOK: Book = { id: 1, title: 'Dune', author: 'Frank Herbert', year: 1965 }
const TAG = entityTag(BOOK)

/** The tag with an end that a proxy has put into it. */
const ended = (end: string) => `"${TAG.slice(1, -1)}${end}"`

const NAMING: readonly string[] = [
  TAG,
  '*',
  // What nginx, Cloudflare and others make of the tag when they compress.
  `W/${TAG}`,
  // What Apache, Caddy, Jetty and others make of it.
  ...['-gzip', '-br', '-zstd', '-deflate', '--gzip', ';gzip'].map(ended),
  `W/${ended('-gzip')}`,
  `W/"other", W/${TAG}`,
  `"a,b" , "" ,\t${TAG}\t`,
  // RFC 9110 §5.6.1.2: empty members of a list are ignored.
  `, ,${TAG},,`,
  // obs-text, and every other character that a tag may have.
  `"!#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~\u0080\u00ff", ${TAG}`,
]

const NOT_NAMING: readonly string[] = [
  '',
  ',',
  'W/""',
  '"a", "b", W/"c"',
  TAG.toLowerCase(),
  `"${TAG.slice(1, -2)}"`,
  '"-gzip"',
  ...['x', '-gzi', '-gzip-', '---gzip', ';-gzip', 'gzip', '-GZIP', '-identity'].map(ended),
  // What is no list of entity tags as a whole includes nothing, whatever a part of it may look like.
  TAG.slice(1),
  TAG.slice(0, -1),
  `'${TAG.slice(1, -1)}'`,
  `w/${TAG}`,
  `W/ ${TAG}`,
  `${TAG} ${TAG}`,
  `${TAG};`,
  `x, ${TAG}`,
  `*, ${TAG}`,
  `${TAG}, *`,
  '**',
  `"open, ${TAG}`,
  `"a b", ${TAG}`,
  `"a\u007f", ${TAG}`,
  `${TAG}, W/`,
  `\u00a0${TAG}`,
]

const match = (list: string) => ifMatch({ 'if-match': list }, TAG)
const noneMatch = (list: string) => ifNoneMatch({ 'if-none-match': list }, TAG)

describe('the entity tag of a book (RFC 9110 §8.8.3)', () => {
  it('is strong, and of characters that are safe in a shell and in a URL, 128 bits of them or more', () => {
    assert.match(TAG, /^"[\w-]{22,43}"$/)
  })

  it('is the same for the same fields, whatever the id and whichever the prototype', () => {
    assert.equal(entityTag({ ...BOOK, id: 2 }), TAG)
    assert.equal(entityTag(Object.assign(Object.create(null), BOOK)), TAG)
    assert.equal(entityTag({ ...BOOK, year: 0 }), entityTag({ ...BOOK, year: -0 }))
  })

  it('stays as it is from one version to the next, so that clients may keep it', () => {
    assert.equal(TAG, '"DAyCssSu4_jT0DLi8Xk6hrRoTB8qCL792sKQXGK23Kw"')
  })

  it('is another one when a character of a field is, or when text moves from one field to another', () => {
    const fields = fc.record({
      title: fc.constantFrom('', '1', '11', 'a', 'A', 'a ', 'á', 'a\u0301', '📚'),
      author: fc.constantFrom('', '1', '11', 'a', 'A', 'a ', 'á', 'a\u0301', '📚'),
      year: fc.constantFrom(0, 1, -1, 11, 111, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1),
    })
    fc.assert(
      fc.property(fields, fields, (a, b) => {
        const isSame = a.title === b.title && a.author === b.author && a.year === b.year
        assert.equal(entityTag({ id: 1, ...a }) === entityTag({ id: 1, ...b }), isSame)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('If-Match and If-None-Match', () => {
  it('let everything pass when they are not there', () => {
    assert.equal(ifMatch({}, TAG), true)
    assert.equal(ifNoneMatch({}, TAG), true)
  })

  for (const list of NAMING) {
    it(`find the tag in ${JSON.stringify(list)}`, () => {
      assert.equal(match(list), true)
      assert.equal(noneMatch(list), false)
    })
  }

  for (const list of NOT_NAMING) {
    it(`do not find the tag in ${JSON.stringify(list)}`, () => {
      assert.equal(match(list), false)
      assert.equal(noneMatch(list), true)
    })
  }

  it('find a tag in any list that is well-formed, wherever it stands', () => {
    const tag = fc.tuple(fc.boolean(), fc.stringMatching(/^[\x21\x23-\x7e\x80-\xff]{0,5}$/))
    const comma = fc.constantFrom(',', ', ', ' ,', '\t,\t', ',,', ' , , ')
    fc.assert(
      fc.property(fc.array(tag), fc.array(tag), fc.boolean(), comma, (before, after, isThere, comma) => {
        const write = ([isWeak, opaque]: [boolean, string]) => `${isWeak ? 'W/' : ''}"${opaque}"`
        const members = [...before.map(write), ...(isThere ? [TAG] : []), ...after.map(write)]
        assert.equal(match(members.join(comma)), isThere)
        assert.equal(noneMatch(members.join(comma)), !isThere)
      }),
    )
  })

  it('take time that is linear in the length of the header', () => {
    // So long that what is quadratic exceeds the time of a file of tests.
    const long = 1_000_000
    for (const part of [' ', '\t', ',', ' ,', '"', '""', '"",', 'W/', '"a"', '"a" ', '*', ', "', 'W/"']) {
      for (const end of ['', '"', 'x', ',']) match(part.repeat(long / part.length) + end)
    }
  })
})

describe('a request has conditions to check', () => {
  for (const [conditions, expected] of [
    [{}, false],
    [{ 'if-match': TAG }, true],
    [{ 'if-match': '' }, true],
    [{ 'if-match': '*, *' }, true],
    [{ 'if-none-match': '*' }, true],
    [{ 'if-none-match': '' }, true],
    [{ 'if-match': '*', 'if-none-match': TAG }, true],
    // A book that is there has what this asks for.
    [{ 'if-match': '*' }, false],
  ] as const) {
    it(`${expected ? 'with' : 'not with'} ${JSON.stringify(conditions)}`, () =>
      assert.equal(hasPreconditions(conditions), expected))
  }
})

describe('a write with conditions', () => {
  let file: ReturnType<typeof newFile>
  let store: Store
  let book: Book
  /** What is done to the store, in order. */
  let done: string[]
  /** What others do each time between reading and writing. */
  let meanwhile: (time: number) => Promise<unknown>

  beforeEach(async () => {
    file = newFile()
    store = await openFile(file.path)
    book = await store.create({ title: 'T', author: 'A', year: 0 })
    done = []
    meanwhile = async () => {}
  })
  afterEach(async () => {
    await store.close()
    file[Symbol.dispose]()
  })

  const watched = (): Pick<Store, 'find'> => ({
    find: async (id) => {
      done.push('find')
      const found = await store.find(id)
      await meanwhile(done.length)
      return found
    },
  })
  const update = (conditions: Preconditions, changes: BookChanges) =>
    conditionalWrite(watched(), book.id, conditions, (expected) => {
      done.push('update')
      return store.update(book.id, changes, expected)
    })
  const remove = (conditions: Preconditions) =>
    conditionalWrite(watched(), book.id, conditions, (expected) => {
      done.push('delete')
      return store.delete(book.id, expected)
    })

  for (const conditions of [{}, { 'if-match': '*' }]) {
    it(`is that write alone with ${JSON.stringify(conditions)}`, async () => {
      assert.equal((await update(conditions, { year: 1 }))?.year, 1)
      assert.equal(await remove(conditions), true)
      assert.equal(await remove(conditions), false)
      assert.equal(await update(conditions, { year: 2 }), undefined)
      assert.deepEqual(done, ['update', 'delete', 'delete', 'update'])
    })
  }

  it('writes nothing when a condition does not hold', async () => {
    for (const conditions of [{ 'if-match': '"other"' }, { 'if-none-match': entityTag(book) }]) {
      await assert.rejects(update(conditions, { year: 1 }), failure.preconditionFailed)
      await assert.rejects(remove(conditions), failure.preconditionFailed)
    }
    assert.deepEqual(new Set(done), new Set(['find']))
  })

  it('reads and writes once when nobody comes between', async () => {
    assert.equal((await update({ 'if-match': entityTag(book) }, { year: 1 }))?.year, 1)
    assert.deepEqual(done, ['find', 'update'])
  })

  it('is refused when another changes the book between reading and writing', async () => {
    meanwhile = () => store.update(book.id, { title: 'of another' })
    const conditions = { 'if-match': entityTag(book) }
    await assert.rejects(update(conditions, { year: 1 }), failure.preconditionFailed)
    await assert.rejects(remove(conditions), failure.preconditionFailed)
    assert.deepEqual({ ...(await store.find(book.id)) }, { ...book, title: 'of another' })
  })

  it('decides again, and writes, when the condition still holds after the change of another', async () => {
    meanwhile = async (time) => time === 1 && store.update(book.id, { title: 'of another' })
    const updated = await update({ 'if-none-match': '"other"' }, { year: 1 })
    assert.deepEqual({ ...updated }, { ...book, title: 'of another', year: 1 })
    assert.deepEqual(done, ['find', 'update', 'find', 'update'])
  })

  it('finds no book when another deletes it between reading and writing', async () => {
    meanwhile = () => store.delete(book.id)
    assert.equal(await update({ 'if-match': entityTag(book) }, { year: 1 }), undefined)
    assert.deepEqual(done, ['find', 'update', 'find'])
  })

  it('gives up when others change the book each time', async () => {
    meanwhile = (time) => store.update(book.id, { year: time })
    for (const write of [
      () => update({ 'if-none-match': '"x"' }, { title: 'X' }),
      () => remove({ 'if-none-match': '"x"' }),
    ]) {
      done = []
      await assert.rejects(
        write(),
        (error) => error instanceof StoreUnavailable && error.reason === 'conflict' && error.nothingWritten,
      )
      assert.equal(done.length, 20, '10 times reading and writing')
    }
    assert.equal((await store.find(book.id))?.title, 'T')
  })
})
