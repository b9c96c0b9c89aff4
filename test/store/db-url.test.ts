import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describeDbUrl, parseDbUrl } from '../../src/store/db-url.ts'
import { anyText } from '../support/any-text.ts'

/** What is wrong with a DB_URL, or undefined if it is accepted; all of the error that anything could print. */
function fault(text: string): string | undefined {
  try {
    parseDbUrl(text)
    return undefined
  } catch (error) {
    assert.ok(error instanceof Error)
    assert.doesNotMatch(error.message, /[\r\n]/)
    return inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true })
  }
}

describe('a DB_URL in messages', () => {
  for (const [text, description] of [
    ['sqlite:///var/lib/books.db', 'sqlite:/var/lib/books.db'],
    ['sqlite:data/books.db', `sqlite:${resolve('data/books.db')}`],
    ['postgres://u:hunter2@h:5433/d?sslmode=require&application_name=hunter2', 'postgres://u@h:5433/d'],
    ['postgres://u%40x:hunter2@a:1,b:2/d%0A', 'postgres://u%40x@a:1,b:2/d%0A'],
    ['postgres://u@[::1]:5432', 'postgres://u@[::1]:5432/u'],
    [
      "  host = /run/postgresql port=5432 user=u dbname=d password='hunter2'",
      'postgres://u@%2Frun%2Fpostgresql:5432/d',
    ],
    ['MariaDB://u:hunter2@h/d', 'mysql://u@h:3306/d'],
    ['mysql://u:hunter2@localhost/d?socket=/run/mysqld.sock', 'mysql://u@%2Frun%2Fmysqld.sock/d'],
  ] as const) {
    it(`has neither password nor parameters: ${text}`, () => {
      assert.equal(describeDbUrl(parseDbUrl(text)), description)
    })
  }
})

describe('DB_URL', () => {
  it('may not have a path that only a shell understands', () => {
    for (const text of [
      'sqlite:~reader/a',
      'sqlite:$HOME/a',
      'sqlite:///~/a',
      'host=h sslrootcert=~/a',
      'host=h sslcert=a sslkey=~/a',
    ])
      assert.match(fault(text) ?? '', /has a path that begins with ~ or \$, which only a shell replaces/)
  })

  for (const [text, path] of [
    ['sqlite://data/books.db', 'data/books.db'],
    ['sqlite:///var/lib/books.db', '/var/lib/books.db'],
    ['SQLite:books.db', 'books.db'],
    ['sqlite:C:\\data\\books.db', 'C:\\data\\books.db'],
    ['sqlite:///C:/books.db', 'C:/books.db'],
    ['sqlite:a ü%20c#d.db', 'a ü%20c#d.db'],
  ] as const) {
    it(`${text} is the file ${path}`, () =>
      assert.deepEqual(parseDbUrl(text), { engine: 'sqlite', path: resolve(path) }))
  }

  for (const [text, wrong] of [
    ['/var/lib/books.db', /no scheme/],
    ['sqlite3:books.db', /unknown scheme/],
    ['sqlite:', /no file/],
    ['sqlite://:memory:', /memory/],
    ['sqlite:books.db?mode=ro', /options/],
    ['postgresql+asyncpg://user@host/books', /unknown scheme/],
    ['postgres:books', /form scheme:\/\/user:password@host\/database/],
  ] as const) {
    it(`${JSON.stringify(text)} is refused`, () => assert.match(fault(text) ?? 'accepted', wrong))
  }
})

describe('a fault of DB_URL does not quote the password', () => {
  /** A password that no message has a part of by chance, and that could be the name of a parameter. */
  const secrets = fc.stringMatching(/^[qxzj]{2}[a-z]{1,3}[qxzj]{3}$/)
  const scheme = fc.constantFrom('postgres', 'postgresql', 'mysql', 'mariadb', 'sqlite', 'mysql2', 'http', '')
  const separator = fc.constantFrom('://', '://', '://', ':/', ':', '//', '')
  /** Pieces that mean something, so that what is behind them is taken for something else. */
  const piece = fc.constantFrom(
    ...'&=?/# %@:[],;\'"\\\n\0{}',
    ...'1?|1/x?|=x|=x&|?x=|%00|%zz|%FF|host='.split('|'),
  )
  const pieces = fc.array(piece, { maxLength: 3 }).map((parts) => parts.join(''))
  const noise = fc.oneof({ weight: 5, arbitrary: pieces }, { weight: 1, arbitrary: anyText(8) })
  const tail = fc.constantFrom(
    ...'@host/books|@host|@host:0/books|@host:x/books|@a,b/books|@[::1/books||/|@host/?ssl=x'.split('|'),
    ...['sslmode=require', 'sslmode=no', 'sslmod=require'].map((query) => `@host/books?${query}`),
  )

  for (const text of [
    'postgres://user:1?hunter=x@host/books',
    'postgres://user:1/books?hunter=x',
    'postgres://user:p@1?hunter=x@host/books',
    'postgres://user@host/books?password=a&hunter=x',
    'mysql://user:p@1/books?hunter=x@host/books',
    'host=h password=my hunter=x',
    'hunter=\nhost=',
  ]) {
    it(`in ${text}`, () => assert.doesNotMatch(fault(text) ?? 'accepted: hunter', /hunter/))
  }

  it('with anything around and in it that is not escaped', () => {
    const name = fc.constantFrom('password', 'pass', 'pwd', 'passwd', 'Password')
    const parts = fc.record({ scheme, separator, name, left: noise, secret: secrets, right: noise, tail })
    const property = fc.property(parts, ({ scheme, separator, name, left, secret, right, tail }) => {
      const text = `${left}${secret}${right}`
      for (const url of [
        `${scheme}${separator}user:${text}${tail}`,
        `${scheme}${separator}:${text}${tail}`,
        `${scheme}://host/books?user=u&${name}=${text}`,
        `${scheme}://u@host/books?${name}=${text}&sslmod=require`,
        `host=h dbname=books password=${text} sslmod=require`,
        `password='${text}' host=h`,
        // All that was set.
        `${secret}${right}`,
      ])
        assert.ok(!fault(url)?.includes(secret), `${url} -> ${fault(url)}`)
    })
    fc.assert(property, { numRuns: 400 })
  })
})
