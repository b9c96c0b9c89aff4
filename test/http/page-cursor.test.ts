import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Book } from '../../src/catalogue/book.ts'
import type { BookQuery, Position, SortField } from '../../src/catalogue/query.ts'
import { plainKey, sortKey } from '../../src/catalogue/sort-key.ts'
import { Cursors, positionAt } from '../../src/http/page-cursor.ts'

const by = (...order: SortField[]): BookQuery => ({ filter: {}, order })
const TITLE: SortField = { name: 'title', descending: false }
const ID: SortField = { name: 'id', descending: false }
const relevance = (...words: string[]): BookQuery => ({ filter: { words }, order: 'relevance' })

describe('a cursor', () => {
  const cursors = new Cursors('a secret')

  /** The position that a cursor leads to while its book is as given. */
  async function positionOf(cursor: string, query: BookQuery, book?: Book): Promise<Position> {
    const place = cursors.read(cursor, query)
    assert.ok(place)
    return positionAt({ find: async () => book }, place, query)
  }

  it('leads to where it was written, whatever the texts, in 500 characters that fit into a URL as they are', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 600 }).filter((text) => text.isWellFormed()),
      fc.constantFrom('\u0001', '"', '文', '😀', 'x').map((character) => character.repeat(600)),
    )
    await fc.assert(
      fc.asyncProperty(
        text,
        text,
        fc.maxSafeInteger(),
        fc.maxSafeInteger(),
        async (title, author, year, id) => {
          const query = by(TITLE, { ...TITLE, name: 'author' }, { ...TITLE, name: 'year' }, ID)
          for (const position of [
            [sortKey('title', title), sortKey('author', author), year, id],
            [plainKey(title), plainKey(author), year, id],
            ['', '', year, id],
          ]) {
            const cursor = cursors.write(position, query)
            assert.match(cursor, /^[\w-]{1,500}$/)
            assert.deepEqual(await positionOf(cursor, query, { id, title, author, year }), position)
          }
        },
      ),
    )
  })

  for (const descending of [false, true]) {
    it(`leads to before all that begins like a long text whose book is gone, ${descending ? 'descending' : 'ascending'}`, async () => {
      const query = by({ ...TITLE, descending }, ID)
      const start = 'x'.repeat(128)
      const cursor = cursors.write([sortKey('title', `${start}m`), 7], query)
      for (const book of [undefined, { id: 7, title: `${start}z`, author: '', year: 0 }]) {
        const [key] = (await positionOf(cursor, query, book)) as [string]
        assert.ok(descending ? key > `${start}\u{10FFFF}z` : key === start)
        assert.ok(key.startsWith(start))
      }
    })
  }

  it('is the same of every instance with the secret, and nothing to one with another', () => {
    const cursor = cursors.write([1], by(ID))
    assert.equal(new Cursors('a secret').write([1], by(ID)), cursor)
    assert.equal(new Cursors('another').read(cursor, by(ID)), undefined)
  })

  it('holds for its order only; by relevance, for its words only', () => {
    const cursor = cursors.write(['t', 1], by(TITLE, ID))
    for (const other of [
      by(ID),
      by({ ...TITLE, descending: true }, ID),
      by(TITLE, { ...ID, descending: true }),
      relevance('t'),
    ]) {
      assert.equal(cursors.read(cursor, other), undefined)
    }
    const found = cursors.write([0, 1], relevance('a', 'b'))
    assert.deepEqual(cursors.read(found, relevance('a', 'b')), [0, 1])
    assert.equal(cursors.read(found, relevance('a')), undefined)
    assert.equal(cursors.read(found, relevance('a,b')), undefined)
    assert.equal(cursors.read(found, { ...relevance('a', 'b'), searchedTitle: 'b a' }), undefined)
  })

  it('holds for another filter', () => {
    const cursor = cursors.write([1], by(ID))
    assert.deepEqual(cursors.read(cursor, { filter: { year: 1 }, order: [ID] }), [1])
  })

  it('of an earlier order, which was by code point, is refused', () => {
    const content = JSON.stringify(['t', 1])
    const hmac = createHmac('sha256', 'a secret')
      .update(`cursor ${JSON.stringify([TITLE, ID])}\n`)
      .update(content)
    const cursor = Buffer.concat([hmac.digest().subarray(0, 16), Buffer.from(content)]).toString('base64url')
    assert.equal(cursors.read(cursor, by(TITLE, ID)), undefined)
  })

  it('is refused after any change of it', () => {
    const cursor = cursors.write(['title', 7], by(TITLE, ID))
    for (let i = 0; i < cursor.length; i++) {
      for (const character of ['A', '_', '=', '+', ' ', '']) {
        const changed = cursor.slice(0, i) + character + cursor.slice(i + 1)
        if (changed !== cursor) assert.equal(cursors.read(changed, by(TITLE, ID)), undefined, changed)
      }
    }
    for (const changed of ['', 'A', `${cursor}A`, `${cursor}=`, ` ${cursor}`]) {
      assert.equal(cursors.read(changed, by(TITLE, ID)), undefined)
    }
  })

  it('leads to where it was written though its book is gone, if the text has at most 128 bytes', async () => {
    for (const descending of [false, true]) {
      const query = by({ ...TITLE, descending }, ID)
      for (const position of [
        [sortKey('title', 't'), 7],
        [sortKey('title', 'x'.repeat(128)), 7],
        [plainKey('x'.repeat(100)), 7],
      ] as const)
        assert.deepEqual(await positionOf(cursors.write(position, query), query), position)
    }
  })
})
