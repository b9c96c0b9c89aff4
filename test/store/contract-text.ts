import assert from 'node:assert/strict'
import { it } from 'node:test'
import { listAll } from './pages.ts'
import { type TestStore, useStore } from './use-store.ts'

const MIB = 1024 * 1024

/** Texts that a database, its driver or its encoding might change. */
const TEXTS: Record<string, string> = {
  empty: '',
  'one space': ' ',
  'leading and trailing spaces': '  x  ',
  'tabs and line breaks': '\tx\r\ny\rz\n',
  'control characters': '\u0001\u001b\u007f\u0085',
  'quotes, backslashes, backticks': `'"\\\`''""\\\\\\'`,
  'an SQL injection': `'); DROP TABLE books; --`,
  'placeholders and wildcards': '? $1 :a @b %s % _',
  'a number': '0123',
  'a number with an exponent': '1e5',
  'the word NULL': 'NULL',
  'composed letters': 'é',
  'decomposed letters': 'e\u0301',
  'emoji of several characters': '📚👩‍👩‍👧🏳️‍🌈',
  'right-to-left text': '\u202eأبجد\u202c',
  'line separators of Unicode': '\u2028\u2029',
  'a byte order mark': '\ufeffx',
  'a replacement character': '\ufffd',
  'noncharacters U+FFFE and U+FFFF': '\ufffe\uffff',
  'the last code point': '\u{10ffff}',
  '1 MiB of ASCII': 'x'.repeat(MIB),
  '1 MiB of four-byte characters': '📚'.repeat(MIB / 4),
}

const YEARS = [0, 1, -1, 2 ** 31, -(2 ** 31) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]

/** What the fields may hold, and that it comes back as it was stored. */
export function textContract(open: () => Promise<TestStore>): void {
  const opened = useStore(open)

  it('stores any text verbatim', async () => {
    for (const [name, text] of Object.entries(TEXTS)) {
      const created = await opened.store.create({ title: text, author: text, year: 1 })
      const { id } = await opened.store.create({ title: 'T', author: 'A', year: 1 })
      const updated = await opened.store.update(id, { title: text, author: text })
      const responses = {
        created,
        updated,
        found: await opened.store.find(created.id),
        foundUpdated: await opened.store.find(id),
      }
      for (const [answer, book] of Object.entries(responses)) {
        // Not assert.equal, which would print a mebibyte.
        assert.ok(book?.title === text, `${name}: title ${answer}`)
        assert.ok(book?.author === text, `${name}: author ${answer}`)
      }
      for (const { id, title, author } of await listAll(opened.store)) {
        assert.ok(title === text && author === text, `${name}: listed ${id}`)
        await opened.store.delete(id)
      }
    }
  })

  it('stores the years at the limits', async () => {
    for (const year of YEARS) {
      const created = await opened.store.create({ title: 'T', author: 'A', year })
      const { id } = await opened.store.create({ title: 'T', author: 'A', year: 7 })
      assert.equal(created.year, year)
      assert.equal((await opened.store.update(id, { year }))?.year, year)
      for (const stored of [created.id, id]) assert.equal((await opened.store.find(stored))?.year, year)
      for (const book of await listAll(opened.store)) {
        assert.equal(book.year, year)
        await opened.store.delete(book.id)
      }
    }
  })

  it('stores the year −0 as 0', async () => {
    const { id, year } = await opened.store.create({ title: 'T', author: 'A', year: -0 })
    assert.equal(year, 0)
    await opened.store.update(id, { year: 1 })
    assert.equal((await opened.store.update(id, { year: -0 }))?.year, 0)
    assert.equal((await opened.store.find(id))?.year, 0)
    assert.equal((await listAll(opened.store))[0]?.year, 0)
  })
}
