import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { BookQuery, SortField } from '../../src/catalogue/query.ts'
import { plainKey, SORT_KEY_VERSION, sortKey } from '../../src/catalogue/sort-key.ts'
import { Cursors } from '../../src/http/page-cursor.ts'
import { anyText } from '../support/any-text.ts'
import { SECRET } from '../support/service.ts'
import { serve } from './serve.ts'

const by = (...order: SortField[]): BookQuery => ({ filter: {}, order })
const TITLE: SortField = { name: 'title', descending: false }
const ID: SortField = { name: 'id', descending: false }

describe('a cursor', () => {
  const cursors = new Cursors('a secret')

  it('leads to where it was written, whatever the texts, and fits into a URL as it is', () => {
    const text = fc.oneof(
      anyText(600),
      fc.constantFrom('\u0001', '"', '文', '😀', 'x').map((character) => character.repeat(600)),
    )
    fc.assert(
      fc.property(text, text, fc.maxSafeInteger(), fc.maxSafeInteger(), (title, author, year, id) => {
        const query = by(TITLE, { ...TITLE, name: 'author' }, { ...TITLE, name: 'year' }, ID)
        for (const position of [
          [sortKey('title', title), sortKey('author', author), year, id],
          [plainKey(title), plainKey(author), year, id],
          ['', '', year, id],
        ]) {
          const cursor = cursors.write(position, query)
          assert.match(cursor, /^[\w-]{1,4100}$/)
          assert.deepEqual(cursors.read(cursor, query), position)
        }
      }),
    )
  })

  it('is the same of every instance with the secret, and nothing to one with another', () => {
    const cursor = cursors.write([1], by(ID))
    assert.equal(new Cursors('a secret').write([1], by(ID)), cursor)
    assert.equal(new Cursors('another').read(cursor, by(ID)), undefined)
  })

  it('of an earlier order is refused as such, if it was for the same fields', async (t) => {
    const content = JSON.stringify(['t', 1])
    const hmac = createHmac('sha256', SECRET)
      .update(`cursor ${JSON.stringify([SORT_KEY_VERSION - 1, TITLE, ID])}\n`)
      .update(content)
    const cursor = Buffer.concat([hmac.digest().subarray(0, 16), Buffer.from(content)]).toString('base64url')
    const { app, authorization } = await serve(t)
    const messageWith = async (sort: string) => {
      const url = `/books?sort=${sort}&after=${cursor}`
      return (await app.inject({ url, headers: { authorization } })).json().message
    }
    assert.match(
      await messageWith('title'),
      /: after is a cursor of an earlier version, .*; begin again without it$/,
    )
    assert.match(await messageWith('id'), /: after must be the cursor of a Link field/)
  })
})
