import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { BookQuery, SortField } from '../src/book-query.ts'
import { Cursors } from '../src/cursor.ts'

const by = (...order: SortField[]): BookQuery => ({ filter: {}, order })
const TITLE: SortField = { name: 'title', descending: false }
const ID: SortField = { name: 'id', descending: false }
const relevance = (...words: string[]): BookQuery => ({ filter: { words }, order: 'relevance' })

describe('a cursor', () => {
  const cursors = new Cursors('a secret')

  it('is read as it was written, whatever the text, and fits into a URL as it is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
        fc.maxSafeInteger(),
        (title, id) => {
          const cursor = cursors.write([title, id], by(TITLE, ID))
          assert.match(cursor, /^[\w-]+$/)
          assert.deepEqual(cursors.read(cursor, by(TITLE, ID)), [title, id])
        },
      ),
    )
  })

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
  })

  it('holds for another filter', () => {
    const cursor = cursors.write([1], by(ID))
    assert.deepEqual(cursors.read(cursor, { filter: { year: 1 }, order: [ID] }), [1])
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
})
