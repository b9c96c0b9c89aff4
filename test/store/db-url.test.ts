import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { ACCEPTED_DB_URLS, parseDbUrl } from '../../src/store/db-url.ts'

describe('DB_URL', () => {
  for (const [text, path] of [
    ['sqlite:books.db', 'books.db'],
    ['sqlite:data/books.db', 'data/books.db'],
    ['sqlite:./books.db', './books.db'],
    ['sqlite:../books.db', '../books.db'],
    ['sqlite:/var/lib/books.db', '/var/lib/books.db'],
    ['sqlite://books.db', 'books.db'],
    ['sqlite://data/books.db', 'data/books.db'],
    ['sqlite:///var/lib/books.db', '/var/lib/books.db'],
    ['SQLite:books.db', 'books.db'],
    ['sqlite:C:\\data\\books.db', 'C:\\data\\books.db'],
    ['sqlite:a b%20c#d.db', 'a b%20c#d.db'],
    ['sqlite:bücher.db', 'bücher.db'],
  ] as const) {
    it(`${text} is the file ${path}`, () => {
      assert.deepEqual(parseDbUrl(text), { engine: 'sqlite', path })
    })
  }

  for (const [text, fault] of [
    ['', /no scheme/],
    ['books.db', /no scheme/],
    ['/var/lib/books.db', /no scheme/],
    [' sqlite:books.db', /no scheme/],
    [':books.db', /no scheme/],
    ['unknown:books.db', /unknown scheme/],
    ['sqlite3:books.db', /unknown scheme/],
    ['file:books.db', /unknown scheme/],
    ['sqlite:', /no file/],
    ['sqlite://', /no file/],
    ['sqlite::memory:', /memory/],
    ['sqlite://:memory:', /memory/],
    ['sqlite:books.db?mode=ro', /options/],
    ['sqlite:books\0.db', /./],
  ] as const) {
    it(`${JSON.stringify(text)} is refused`, () => {
      assert.throws(
        () => parseDbUrl(text),
        (error) => error instanceof Error && fault.test(error.message) && !/[\r\n]/.test(error.message),
      )
    })
  }

  it('is not quoted in a fault, because it may hold a password', () => {
    for (const text of ['hunter2', 'hunter2:x', 'unknown://u:hunter2@host/db', 'sqlite:x?key=hunter2']) {
      assert.throws(
        () => parseDbUrl(text),
        (error) => !/hunter2/.test(inspect(error, { showHidden: true })),
      )
    }
  })

  it('has an example in the text for messages that is accepted', () => {
    const example = /such as (\S+)/.exec(ACCEPTED_DB_URLS)?.[1]
    assert.ok(example)
    assert.doesNotThrow(() => parseDbUrl(example))
  })
})
