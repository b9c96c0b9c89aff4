import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
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

describe('the URL of a MySQL database', () => {
  for (const [text, given] of [
    ['mysql://u:p@h:3307/d', {}],
    ['mariadb://u:p@h:/d', { hosts: at('h', 3306) }],
    ['mysql://u:p@[::1]:1,b/d', { hosts: [...at('::1', 1), ...at('b', 3306)] }],
    ['mysql://u:p@h:3307/d?target_session_attrs=standby', { sessionAttrs: 'standby' }],
    ['mysql://u:p@h:3307/d?load_balance_hosts=random', { loadBalanceHosts: 'random' }],
    ['mysql://u@x:p@q+@h:3307/d', { user: 'u@x', password: 'p@q+' }],
    ['mysql://u:p@/d?socket=/run/m.sock', { hosts: at('localhost', 3306), socket: '/run/m.sock' }],
    [
      'mysql://u:p@127.0.0.1:3307/d?socket=/s&ssl-mode=VERIFY_IDENTITY',
      { hosts: at('127.0.0.1', 3307), socket: '/s', tls: { mode: 'verify-full', ...NO_FILES } },
    ],
    [
      'mysql://u:p@h:3307/d?ssl-ca=/a%20b/ca.pem&ssl-cert=c.pem&ssl-key=k.pem',
      { tls: { mode: 'verify-ca', authority: '/a b/ca.pem', certificate: 'c.pem', key: 'k.pem' } },
    ],
  ] as const)
    it(`${text} is read`, () => assert.deepEqual(parseMysqlUrl(text), { ...FULL, ...given }))

  it('has the modes of TLS as the clients of MySQL name them', () => {
    for (const [query, expected] of [
      ['ssl-mode=DISABLED', 'disable'],
      ['ssl-mode=PREFERRED&ssl-ca=/ca.pem', 'prefer'],
      ['ssl-mode=REQUIRED', 'require'],
      ['ssl-mode=VERIFY_CA&ssl-ca=/ca.pem', 'verify-ca'],
      ['ssl-mode=verify_identity', 'verify-full'],
    ] as const) {
      // An address has no name, which only the last one would check.
      const host = expected === 'verify-full' ? 'h' : '127.0.0.1'
      assert.equal(parseMysqlUrl(`mysql://u:p@${host}/d?${query}`).tls.mode, expected)
    }
  })

  for (const [text, message] of [
    ['mysql://u:p@h/', /names no database/],
    ['mysql://u:p@h1,h2/d?socket=/s', /several hosts/],
    ['mysql://u:p@h1,/d', /several hosts/],
    ['mysql://u:p@h/d?target_session_attrs=', /target_session_attrs other than any, read-write/],
    // What other clients, and providers, write.
    ['mysql://u:p@h/d?ssl=true', /the parameter "ssl", which is not known; known are ssl-mode .*, ssl-ca, /],
    ['mysql://h/d?ssl-mode=constructor', /ssl-mode other than DISABLED, PREFERRED, REQUIRED, VERIFY_CA, /],
    ['mysql://h,127.0.0.1/d?ssl-mode=VERIFY_IDENTITY', /address as its host/],
    ['mysql://127.0.0.1/d?ssl-mode=REQUIRED&ssl-ca=system', /address as its host/],
  ] as const)
    it(`${text} is refused`, () => assert.throws(() => parseMysqlUrl(text), { message }))
})
