import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { TLS_MODES } from '../../../src/store/client-server/tls.ts'
import {
  type PostgresTarget,
  parsePostgresKeywords,
  parsePostgresUrl,
} from '../../../src/store/postgres/url.ts'

/** What a URL sets, apart from what has its default. */
type Given = Partial<Omit<PostgresTarget, 'tls'>> & {
  /** Of a single host. */
  readonly host?: string
  readonly port?: number | undefined
  readonly tls?: Partial<PostgresTarget['tls']>
}

/** A target with defaults where nothing is given. */
const filled = ({ tls, host, port, ...given }: Given): PostgresTarget => ({
  user: undefined,
  password: undefined,
  hosts: [{ host, port }],
  sessionAttrs: undefined,
  loadBalanceHosts: 'disable',
  database: undefined,
  channelBinding: 'prefer',
  options: undefined,
  applicationName: 'book-catalogue',
  ...given,
  tls: { mode: 'prefer', authority: undefined, certificate: undefined, key: undefined, ...tls },
})

type Environment = Readonly<Record<string, string>>

const parse = (text: string, environment: Environment = {}) =>
  (text.startsWith('postgres:') ? parsePostgresUrl : parsePostgresKeywords)(text, environment)

/** Tests that each text means what is given with it, and has defaults else. */
function means(
  ...cases: readonly (readonly [text: string, given: Given, environment?: Environment])[]
): void {
  for (const [text, given, environment] of cases)
    it(`${JSON.stringify(text)} is read`, () => assert.deepEqual(parse(text, environment), filled(given)))
}

/** Tests that each text is refused with a message like this. */
function refuses(
  ...cases: readonly (readonly [text: string, message: RegExp, environment?: Environment])[]
): void {
  for (const [text, message, environment] of cases)
    it(`${JSON.stringify(text)} is refused`, () => assert.throws(() => parse(text, environment), { message }))
}

const FULL = { user: 'u', password: 'p', host: 'h', port: 5433, database: 'd' }

const at = (host: string, port?: number) => ({ host, port })

describe('the URL of a PostgreSQL database', () => {
  means(
    ['postgres://u:p@h:5433/d', FULL],
    ['postgres://', {}],
    ['postgres://u:p@q;,!$&()*=:@h:5433/d', { ...FULL, password: 'p@q;,!$&()*=:' }],
    ['postgres://u:p@%2Frun:5433/d', { ...FULL, host: '/run' }],
    ['postgres://a:b@c:1/e?user=u&password=p&host=h&port=5433&dbname=d', FULL],
    ['postgres://?u%73er=u&user=v&password=a+b', { user: 'v', password: 'a+b' }],
    ['postgres://h?options=-c%20search_path%3Dx', { host: 'h', options: '-c search_path=x' }],
    ['postgres://h?application_name=a@b%26c', { host: 'h', applicationName: 'a@b&c' }],
    ['postgres://h?channel_binding=disable', { host: 'h', channelBinding: 'disable' }],
    [
      'postgres://h?connect_timeout=10&keepalives=1&keepalives_idle=30&keepalives_interval=5&keepalives_count=3&sslsni=1&sslcompression=0&tcp_user_timeout=1&gssencmode=disable&client_encoding=utf8&sslnegotiation=postgres&fallback_application_name=x&pgbouncer=true&supa=x',
      { host: 'h' },
    ],
  )

  refuses(
    ['postgres://u:p#q@h/d', /write special characters as %XX/],
    ['postgres://u:p@h/d\n', /line break/],
    ['postgres://u:p%@h/d', /% that does not begin a %XX/],
    ['postgres://u:p%00@h/d', /%00/],
    ['postgres://h:65536/d', /port.* 1 to 65535/],
    ['postgres://h?hostaddr=127.0.0.1', /both host and hostaddr/],
    ['postgres://[::1', /host:port/],
    ['postgres://u:password@h:5432/d?sslmod=require', /the parameter "sslmod", which is not known/],
    ['postgres://h?sslmode', /parameter without a value/],
    ['postgres://h?gssencmode=require', /gssencmode other than disable, prefer/],
    ['postgres://h?client_encoding=LATIN1', /client_encoding other than/],
    ['postgres://h?channel_binding=yes', /channel_binding other than disable, prefer, require/],
    ['host=h dbname', /form name=value/],
    ["host=h password='x", /form name=value/],
    ['host=h;port=1;user=u;password=p', /; or , between keywords/],
    ['user=u,password=p,host=h', /; or , between keywords/],
    ["host='h;password=p'", /host with a character/],
    ['host=h; user=u', /host with a character/],
    ['host=postgres://u:p@h/d', /host with a character/],
    ['host=h dbname=postgres://u:p@h/d', /in place of the name/],
    ["dbname='host=h password=p' host=h", /in place of the name/],
  )

  it('may have any user, password and database, escaped, or quoted in the form of name=value', () => {
    const text = fc.string({ minLength: 1, unit: 'grapheme' }).filter((each) => !/[\0\r\n]/.test(each))
    const property = fc.property(text, text, text, (user, password, database) => {
      const expected = filled({ user, password, database, host: 'h' })
      const [u, p, d] = [user, password, database].map(encodeURIComponent)
      assert.deepEqual(parse(`postgres://${u}:${p}@h/${d}`), expected)
      const quoted = (value: string) => `'${value.replace(/['\\]/g, '\\$&')}'`
      const [name, secret, base] = [user, password, database].map(quoted)
      assert.deepEqual(parse(`host=h user = ${name}\tpassword=${secret} dbname= ${base}`), expected)
    })
    fc.assert(property)
  })
})

describe("libpq's form of name=value", () => {
  means(
    ['user=u password=p host=h port=5433 dbname=d', FULL],
    ['dbname=d password=a=b%20@/?#', { database: 'd', password: 'a=b%20@/?#' }],
    ['host=h port=1 port=2 sslmode=require', { host: 'h', port: 2, tls: { mode: 'require' } }],
    // As in libpq, the value is what comes next.
    ['host=h password= user=u', { host: 'h', password: 'user=u' }],
  )
})

describe('the variables of libpq', () => {
  const environment = { PGHOSTADDR: '::1', PGDATABASE: 'd', PGUSER: 'u', PGAPPNAME: 'a' }

  means(
    ['hostaddr=::1', { host: '::1' }, { PGHOST: 'a' }],
    ['dbname=', { host: '::1', database: 'd', user: 'u', applicationName: 'a' }, environment],
    [
      'postgres://v@?application_name=b',
      { host: '::1', database: 'd', user: 'v', applicationName: 'b' },
      environment,
    ],
  )

  refuses(
    ['host=h', /both host and hostaddr \(PGHOSTADDR\)/, environment],
    ['host=h', /gssencmode other than/, { PGGSSENCMODE: 'require' }],
    ['host=h', /sslnegotiation other than/, { PGSSLNEGOTIATION: 'direct' }],
    ...'SERVICE REQUIREAUTH REQUIREPEER REQUIRESSL SSLCRL SSLCRLDIR SSLMINPROTOCOLVERSION'
      .split(' ')
      .map((name) => ['host=h', RegExp(`the variable PG${name}: unset`), { [`PG${name}`]: 'x' }] as const),
    ['host=h', /in place of the name/, { PGDATABASE: 'postgres://u:p@h/d' }],
  )
})

describe('several hosts of PostgreSQL', () => {
  const environment = {
    PGHOST: 'a,b',
    PGPORT: '1,2',
    PGTARGETSESSIONATTRS: 'prefer-standby',
    PGLOADBALANCEHOSTS: 'random',
  }
  const given = { sessionAttrs: 'prefer-standby', loadBalanceHosts: 'random' } as const

  means(
    ['postgres://[::1]:1,[fe80::1%25eth0],c/', { hosts: [at('::1', 1), at('fe80::1%eth0'), at('c')] }],
    ['host=a,/run/postgresql port=1,', { hosts: [at('a', 1), at('/run/postgresql')] }],
    ['postgres://?hostaddr=::1,127.0.0.1&port=1', { hosts: [at('::1', 1), at('127.0.0.1', 1)] }],
    ['postgres://a,b?target_session_attrs=any', { hosts: [at('a'), at('b')], sessionAttrs: 'any' }],
    ['postgres://', { ...given, hosts: [at('a', 1), at('b', 2)] }, environment],
    ['postgres://c:3?hostaddr=', { ...given, host: 'c', port: 3 }, environment],
  )

  refuses(
    ['postgres://h1,/d', /empty host/],
    ['postgres://h?host=h1,h2,h3&port=1,2', /another number of ports/],
    ['postgres://h1,h2?load_balance_hosts=on', /load_balance_hosts other than disable, random/],
    [
      'postgres://h?target_session_attrs=master',
      /target_session_attrs other than any, read-write, primary, /,
    ],
  )
})

describe('TLS in the URL of a PostgreSQL database', () => {
  const environment = {
    PGSSLMODE: 'verify-ca',
    PGSSLROOTCERT: 'ca.pem',
    PGSSLCERT: 'c.pem',
    PGSSLKEY: 'k.pem',
    PGCHANNELBINDING: 'require',
  }
  const tls = { mode: 'verify-ca', authority: 'ca.pem', certificate: 'c.pem', key: 'k.pem' } as const
  const system = { mode: 'verify-full', authority: 'system' } as const

  means(
    ...TLS_MODES.map((mode) => [`postgres://h?sslmode=${mode}`, { host: 'h', tls: { mode } }] as const),
    ['postgres://h?ssl=true', { host: 'h', tls: { mode: 'require' } }],
    ['postgres://h?ssl=true&sslmode=verify-full', { host: 'h', tls: { mode: 'verify-full' } }],
    ['postgres://h?sslcert=c.pem&sslkey=k.pem', { host: 'h', tls: { certificate: 'c.pem', key: 'k.pem' } }],
    ['postgres://h?sslrootcert=system', { host: 'h', tls: system }],
    ['postgres://h?sslrootcert=system&sslmode=verify-full', { host: 'h', tls: system }],
    ['host=h', { host: 'h', tls, channelBinding: 'require' }, environment],
    [
      'postgres://h?sslmode=verify-full&sslrootcert=/a%20b&channel_binding=disable',
      { host: 'h', tls: { ...tls, mode: 'verify-full', authority: '/a b' }, channelBinding: 'disable' },
      environment,
    ],
    ['postgres://h', { host: 'h' }, { PGSSLMODE: '' }],
  )

  refuses(
    [
      'postgres://h?sslmode=REQUIRE',
      /sslmode other than disable, allow, prefer, require, verify-ca, verify-/,
    ],
    ['postgres://h?sslmode=', /an empty sslmode/],
    ['postgres://h?ssl=1', /the parameter "ssl", which is not known/],
    ['postgres://h?sslrootcert=system&sslmode=require', /=system, which needs sslmode=verify-full/],
    ['postgres://h?sslkey=k.pem', /only one of the two files/],
  )
})
