import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TlsMode } from '../../../src/store/client-server/tls.ts'
import { type MysqlTarget, parseMysqlUrl } from '../../../src/store/mysql/url.ts'

const NO_FILES = { authority: undefined, certificate: undefined, key: undefined }
const FULL: MysqlTarget = {
  user: 'u',
  password: 'p',
  hosts: [{ host: 'h', port: 3307 }],
  sessionAttrs: undefined,
  loadBalanceHosts: 'disable',
  socket: undefined,
  database: 'd',
  tls: { mode: 'prefer', ...NO_FILES },
}

const at = (host: string, port: number) => [{ host, port }]

function refuses(cases: readonly (readonly [string, RegExp])[]): void {
  for (const [text, message] of cases) {
    it(`${JSON.stringify(text)} is refused`, () => assert.throws(() => parseMysqlUrl(text), { message }))
  }
}

describe('the URL of a MySQL database', () => {
  for (const [text, given] of [
    ['mysql://u:p@h:3307/d', {}],
    ['mariadb://u:p@h:3307/d', {}],
    ['mysql://u:p@h/d', { hosts: at('h', 3306) }],
    ['mysql://u:p@h:/d', { hosts: at('h', 3306) }],
    ['mysql://u@h:3307/d', { password: undefined }],
    ['mysql://u:@h:3307/d', { password: undefined }],
    ['mysql://h:3307/d', { user: undefined, password: undefined }],
    ['mysql://u:p@:3307/d', { hosts: at('localhost', 3307) }],
    ['mysql://u:p@[::1]:3307/d', { hosts: at('::1', 3307) }],
    ['mysql://u:p@a,b:3307/d', { hosts: [...at('a', 3306), ...at('b', 3307)] }],
    ['mysql://u:p@[::1]:1,[::2]:2/d', { hosts: [...at('::1', 1), ...at('::2', 2)] }],
    ['mysql://u:p@h:3307/d?target_session_attrs=standby', { sessionAttrs: 'standby' }],
    ['mysql://u:p@h:3307/d?load_balance_hosts=random', { loadBalanceHosts: 'random' }],
    [
      'mysql://u%40x:p%3A%2F%3F%23%40%25@%68:3307/d%2Fe',
      { user: 'u@x', password: 'p:/?#@%', database: 'd/e' },
    ],
    ['mysql://u@x:p@q@h:3307/d', { user: 'u@x', password: 'p@q' }],
    ['mysql://u:p@q+@h:3307/d', { password: 'p@q+' }],
    [
      'mysql://u:p@/d?socket=/run/mysqld/mysqld.sock',
      { hosts: at('localhost', 3306), socket: '/run/mysqld/mysqld.sock' },
    ],
    [
      'mysql://u:p@127.0.0.1:3307/d?socket=/s&ssl-mode=VERIFY_IDENTITY',
      { hosts: at('127.0.0.1', 3307), socket: '/s', tls: { mode: 'verify-full', ...NO_FILES } },
    ],
  ] as const) {
    it(`${text} is read`, () => assert.deepEqual(parseMysqlUrl(text), { ...FULL, ...given }))
  }

  refuses([
    ['mysql://u:p@h', /names no database/],
    ['mysql://u:p@h/', /names no database/],
    ['mysql:/d', /scheme:\/\/user:password@host/],
    ['mysql:d', /scheme:\/\/user:password@host/],
    ['mysql://u:p#q@h/d', /write special characters as %XX/],
    ['mysql://u:p/q@h/d', /write special characters as %XX/],
    ['mysql://u:p%@h/d', /% that does not begin a %XX/],
    ['mysql://u:p%00@h/d', /%00/],
    ['mysql://u:p@h:0/d', /port.* 1 to 65535/],
    ['mysql://u:p@h:65536/d', /port.* 1 to 65535/],
    ['mysql://u:p@h1,/d', /several hosts/],
    ['mysql://u:p@h1,h2/d?socket=/s', /several hosts/],
    ['mysql://u:p@h/d?target_session_attrs=', /target_session_attrs other than any, read-write/],
    ['mysql://u:p@h/d?load_balance_hosts=yes', /load_balance_hosts other than disable, random/],
    ['mysql://u:p@h/d?parseTime=true', /the parameter "parseTime", which is not known/],
    ['mysql://u:p@h/d?ssl-mod=REQUIRED', /the parameter "ssl-mod", which is not known/],
    ['mysql://u:p@h/d?ssl', /parameter without a value/],
  ])
})

describe('TLS in the URL of a MySQL database', () => {
  const mode = (query: string) => parseMysqlUrl(`mysql://u:p@h/d?${query}`).tls.mode

  for (const [query, expected] of [
    ['ssl-mode=DISABLED', 'disable'],
    ['ssl-mode=PREFERRED', 'prefer'],
    ['ssl-mode=REQUIRED', 'require'],
    ['ssl-mode=VERIFY_CA', 'verify-ca'],
    ['ssl-mode=VERIFY_IDENTITY', 'verify-full'],
    ['ssl-mode=verify_identity', 'verify-full'],
    ['ssl-ca=/ca.pem', 'verify-ca'],
    ['ssl-ca=/ca.pem&ssl-mode=VERIFY_IDENTITY', 'verify-full'],
    ['ssl-ca=', 'prefer'],
  ] satisfies [string, TlsMode][]) {
    it(`${query} means ${expected}`, () => assert.equal(mode(query), expected))
  }

  // What other clients, and hosted providers, write.
  for (const [name, value] of [
    ['ssl', '{"rejectUnauthorized":true}'],
    ['ssl', 'true'],
    ['sslmode', 'require'],
    ['sslaccept', 'strict'],
    ['tls', 'true'],
    ['useSSL', 'true'],
    ['ssl_ca', '/ca.pem'],
    ['charset', 'utf8mb4'],
  ])
    it(`is not asked for by ${name}=${value}, which is refused with the names that are known`, () =>
      assert.throws(() => parseMysqlUrl(`mysql://u:p@h/d?${name}=${value}`), {
        message: new RegExp(`the parameter "${name}", which is not known; known are ssl-mode .*, ssl-ca, `),
      }))

  it('takes the files', () => {
    const { tls } = parseMysqlUrl('mysql://u@h/d?ssl-ca=/a%20b/ca.pem&ssl-cert=c.pem&ssl-key=k.pem')
    assert.deepEqual(tls, { mode: 'verify-ca', authority: '/a b/ca.pem', certificate: 'c.pem', key: 'k.pem' })
  })

  refuses([
    [
      'mysql://h/d?ssl-mode=on',
      /ssl-mode other than DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY/,
    ],
    ['mysql://h/d?ssl-mode=', /ssl-mode other than/],
    ['mysql://h/d?ssl-mode=constructor', /ssl-mode other than/],
    ['mysql://h/d?ssl-mode=verify-full', /ssl-mode other than/],
    ['mysql://h/d?ssl-cert=c.pem', /only one of the two files/],
    ['mysql://h/d?ssl-key=k.pem', /only one of the two files/],
    ['mysql://h,127.0.0.1/d?ssl-mode=VERIFY_IDENTITY', /address as its host/],
    ['mysql://127.0.0.1/d?ssl-mode=VERIFY_IDENTITY', /address as its host/],
    ['mysql://[::1]/d?ssl-mode=VERIFY_IDENTITY', /address as its host/],
    ['mysql://127.0.0.1/d?ssl-mode=VERIFY_CA', /address as its host/],
    ['mysql://127.0.0.1/d?ssl-mode=REQUIRED&ssl-ca=system', /address as its host/],
  ])

  it('can be checked on an address when it is only asked who signed', () => {
    for (const query of [
      'ssl-mode=VERIFY_CA&ssl-ca=/ca.pem',
      'ssl-mode=REQUIRED&ssl-ca=/ca.pem',
      'ssl-mode=REQUIRED',
    ]) {
      assert.doesNotThrow(() => parseMysqlUrl(`mysql://127.0.0.1/d?${query}`))
    }
  })
})
