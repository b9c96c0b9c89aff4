import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseOrigins, parseTrustProxy, wholeNumber } from '../../src/config.ts'

/** Checks that a text is refused, and quoted in one line. */
function assertRefused(parse: (text: string) => unknown, text: string, quoted = text): void {
  assert.throws(
    () => parse(text),
    (error: Error) => error.message === `is ${JSON.stringify(quoted)}` && !/[\r\n]/.test(error.message),
  )
}

describe('a whole number', () => {
  const parse = wholeNumber(1, 1000)

  for (const [text, number] of [
    ['1', 1],
    ['1000', 1000],
    ['007', 7],
  ] as const) {
    it(`may be ${text}`, () => assert.equal(parse(text), number))
  }

  for (const text of [
    '0',
    '1001',
    '-1',
    '+1',
    '1.0',
    '1e2',
    '0x1',
    ' 1',
    '1 ',
    '1\n',
    '',
    'one',
    '１',
    '9'.repeat(30),
    'NaN',
  ]) {
    it(`may not be ${JSON.stringify(text)}`, () => assertRefused(parse, text))
  }
})

describe('TRUST_PROXY', () => {
  for (const [text, value] of [
    ['true', true],
    ['false', false],
    ['0', 0],
    ['1', 1],
    ['999', 999],
    ['127.0.0.1', ['127.0.0.1']],
    ['127.0.0.1, ::1', ['127.0.0.1', '::1']],
    ['10.0.0.0/8,2001:db8::/32', ['10.0.0.0/8', '2001:db8::/32']],
    ['0.0.0.0/0,::/128,1.2.3.4/32', ['0.0.0.0/0', '::/128', '1.2.3.4/32']],
    ['loopback,linklocal,uniquelocal', ['loopback', 'linklocal', 'uniquelocal']],
  ] as const) {
    it(`may be ${text}`, () => assert.deepEqual(parseTrustProxy(text), value))
  }

  for (const [text, quoted] of [
    ['yes', 'yes'],
    ['TRUE', 'TRUE'],
    ['-1', '-1'],
    ['1000', '1000'],
    ['localhost', 'localhost'],
    ['10.0.0.0/33', '10.0.0.0/33'],
    ['::/129', '::/129'],
    ['10.0.0.0/', '10.0.0.0/'],
    ['10.0.0.0/8/8', '10.0.0.0/8/8'],
    ['10.0.0.0/255.0.0.0', '10.0.0.0/255.0.0.0'],
    ['10.0.0', '10.0.0'],
    ['127.0.0.1:80', '127.0.0.1:80'],
    ['127.0.0.1,', ''],
    ['127.0.0.1,x\r\n', 'x'],
    ['loopback/8', 'loopback/8'],
    ['*', '*'],
    ['', ''],
  ] as const) {
    it(`may not be ${JSON.stringify(text)}`, () => assertRefused(parseTrustProxy, text, quoted))
  }
})

describe('CORS_ORIGIN', () => {
  for (const [text, value] of [
    ['*', ['*']],
    ['https://books.example', ['https://books.example']],
    ['https://a.example, http://localhost:3000', ['https://a.example', 'http://localhost:3000']],
    ['http://[::1]:8080', ['http://[::1]:8080']],
    ['https://xn--bcher-kva.example', ['https://xn--bcher-kva.example']],
  ] as const) {
    it(`may be ${text}`, () => assert.deepEqual(parseOrigins(text), value))
  }

  // What a browser never sends as Origin would allow nobody.
  for (const [text, quoted] of [
    ['https://books.example/', 'https://books.example/'],
    ['https://books.example/path', 'https://books.example/path'],
    ['https://Books.example', 'https://Books.example'],
    ['https://books.example:443', 'https://books.example:443'],
    ['https://me@books.example', 'https://me@books.example'],
    ['https://bücher.example', 'https://bücher.example'],
    ['books.example', 'books.example'],
    ['null', 'null'],
    ['file:///', 'file:///'],
    ['ftp://books.example', 'ftp://books.example'],
    ['https://', 'https://'],
    ['https://a.example,,', ''],
    ['', ''],
  ] as const) {
    it(`may not be ${JSON.stringify(text)}`, () => assertRefused(parseOrigins, text, quoted))
  }
})
