import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { at, FULL, filled, means, refuses, url } from './target.ts'

describe('the URL of a PostgreSQL database', () => {
  means(url, [
    ['postgres://u:p@h:5433/d', FULL],
    ['postgresql://u:p@h:5433/d', FULL],
    ['postgres://u:p@h/d', { ...FULL, port: undefined }],
    ['postgres://u:p@h:/d', { ...FULL, port: undefined }],
    ['postgres://u@h:5433/d', { ...FULL, password: undefined }],
    ['postgres://u:@h:5433/d', { ...FULL, password: undefined }],
    ['postgres://:p@h:5433/d', { ...FULL, user: undefined }],
    ['postgres://@h', { host: 'h' }],
    ['postgres://u:p@h:5433', { ...FULL, database: undefined }],
    ['postgres://u:p@h:5433/', { ...FULL, database: undefined }],
    ['postgres://h', { host: 'h' }],
    ['postgres://:5433/', { port: 5433 }],
    ['postgres://', {}],
    ['postgres:///d', { database: 'd' }],
    ['postgres://u@', { user: 'u' }],
    ['postgres://h?', { host: 'h' }],
    ['postgres://h/d?&', { host: 'h', database: 'd' }],
    ['postgres://[::1]:5433/d', { host: '::1', port: 5433, database: 'd' }],
    ['postgres://u:p@[2001:db8::1234]/d', { ...FULL, host: '2001:db8::1234', port: undefined }],
    ['postgres://[fe80::1%25eth0]/d', { host: 'fe80::1%eth0', database: 'd' }],
    [
      'postgres://u%40x:p%3A%2F%3F%23%5B%5D%40%25@%68:5433/d%2Fe',
      { ...FULL, user: 'u@x', password: 'p:/?#[]@%', database: 'd/e' },
    ],
    ['postgres://%C3%BC:%E6%BC%A2@h:5433/d', { ...FULL, user: 'ü', password: '漢' }],
    ['postgres://ü:漢 +@h:5433/d', { ...FULL, user: 'ü', password: '漢 +' }],
    ['postgres://u:p:q@h:5433/d', { ...FULL, password: 'p:q' }],
    ['postgres://u:p@q@h:5433/d', { ...FULL, password: 'p@q' }],
    ['postgres://u:p;,!$&()*=@h:5433/d', { ...FULL, password: 'p;,!$&()*=' }],
  ])

  describe('with a Unix socket', () => {
    means(url, [
      ['postgres:///d?host=/run/postgresql', { host: '/run/postgresql', database: 'd' }],
      ['postgres://%2Frun%2Fpostgresql/d', { host: '/run/postgresql', database: 'd' }],
      ['postgres://u:p@%2Frun%2Fpostgresql:5433/d', { ...FULL, host: '/run/postgresql' }],
      ['postgres://u:p@/d?host=%2Frun%2Fpostgresql&port=5433', { ...FULL, host: '/run/postgresql' }],
      [
        'postgres://u:p@localhost/d?host=/cloudsql/a:b:c',
        { ...FULL, port: undefined, host: '/cloudsql/a:b:c' },
      ],
    ])
  })

  describe('with several hosts', () => {
    means(url, [
      ['postgres://u:p@a:1,b:2/d', { ...FULL, port: undefined, hosts: [at('a', 1), at('b', 2)] }],
      ['postgres://a,b:2,c/d', { database: 'd', hosts: [at('a'), at('b', 2), at('c')] }],
      ['postgres://[::1]:1,[fe80::1%25eth0]/', { hosts: [at('::1', 1), at('fe80::1%eth0')] }],
      ['postgres:///?host=a,b&port=1,2', { hosts: [at('a', 1), at('b', 2)] }],
      ['postgres:///?host=a,b&port=1,', { hosts: [at('a', 1), at('b')] }],
      ['postgres://x:1/?host=a,b', { hosts: [at('a', 1), at('b', 1)] }],
      ['postgres://?hostaddr=::1,127.0.0.1&port=1', { hosts: [at('::1', 1), at('127.0.0.1', 1)] }],
      ['postgres://a,b?target_session_attrs=any', { hosts: [at('a'), at('b')], sessionAttrs: 'any' }],
      ['postgres://a,b?load_balance_hosts=random', { hosts: [at('a'), at('b')], loadBalanceHosts: 'random' }],
      [
        'postgres://a?load_balance_hosts=disable&target_session_attrs=standby',
        { host: 'a', sessionAttrs: 'standby' },
      ],
    ])

    it('from the variables of libpq', () => {
      const environment = {
        PGHOST: 'a,b',
        PGPORT: '1,2',
        PGTARGETSESSIONATTRS: 'prefer-standby',
        PGLOADBALANCEHOSTS: 'random',
      }
      const given = { sessionAttrs: 'prefer-standby', loadBalanceHosts: 'random' } as const
      const hosts = [at('a', 1), at('b', 2)]
      assert.deepEqual(parsePostgresUrl('postgres://', environment), filled({ ...given, hosts }))
      assert.deepEqual(
        parsePostgresUrl('postgres://c:3?hostaddr=', environment),
        filled({ ...given, host: 'c', port: 3 }),
      )
      assert.deepEqual(
        parsePostgresUrl('postgres://?hostaddr=::1,::2', environment),
        filled({ ...given, hosts: [at('::1', 1), at('::2', 2)] }),
      )
      assert.deepEqual(parsePostgresUrl('postgres://', { PGHOST: '', PGPORT: '' }), filled({}))
    })
  })

  describe('with parameters', () => {
    means(url, [
      ['postgres://?user=u&password=p&host=h&port=5433&dbname=d', FULL],
      ['postgres://a:b@c:1/e?user=u&password=p&host=h&port=5433&dbname=d', FULL],
      ['postgres://?u%73er=u&user=v', { user: 'v' }],
      ['postgres://?hostaddr=127.0.0.1', { host: '127.0.0.1' }],
      ['postgres://h?options=-c%20search_path%3Dx', { host: 'h', options: '-c search_path=x' }],
      ['postgres://h?options=endpoint%3Dep-1', { host: 'h', options: 'endpoint=ep-1' }],
      ['postgres://h?options=endpoint=ep-1', { host: 'h', options: 'endpoint=ep-1' }],
      ['postgres://h?application_name=a@b%26c', { host: 'h', applicationName: 'a@b&c' }],
      ['postgres://h?password=a+b', { host: 'h', password: 'a+b' }],
      ['postgres://h?channel_binding=require', { host: 'h', channelBinding: 'require' }],
      ['postgres://h?channel_binding=disable', { host: 'h', channelBinding: 'disable' }],
      [
        'postgres://h?connect_timeout=10&keepalives=1&keepalives_idle=30&sslsni=1&gssencmode=disable&client_encoding=utf8&sslnegotiation=postgres&fallback_application_name=x',
        { host: 'h' },
      ],
    ])
  })

  refuses(url, [
    ['postgres:/h/d', /scheme:\/\/user:password@host/],
    ['postgres://u:p#q@h/d', /write special characters as %XX/],
    ['postgres://u:1/q@h/d', /write special characters as %XX/],
    ['postgres://u:p@h/d#x', /write special characters as %XX/],
    ['postgres://u:p@h/d\n', /line break/],
    ['postgres://u:p%@h/d', /% that does not begin a %XX/],
    ['postgres://u:p%zz@h/d', /% that does not begin a %XX/],
    ['postgres://u:p%FF@h/d', /% that does not begin a %XX/],
    ['postgres://u:p%00@h/d', /%00/],
    ['postgres://h:0/d', /port.* 1 to 65535/],
    ['postgres://h:65536/d', /port.* 1 to 65535/],
    ['postgres://h:5432x/d', /port.* 1 to 65535/],
    ['postgres://h?port=-1', /port.* 1 to 65535/],
    ['postgres://h1,/d', /empty host/],
    ['postgres://,h2:5432/d', /empty host/],
    ['postgres://h1:0,h2/d', /port.* 1 to 65535/],
    ['postgres://h?host=h1,h2,h3&port=1,2', /another number of ports/],
    ['postgres://h1:1,h2:2/d?host=h3', /another number of ports/],
    ['postgres://h1,h2?load_balance_hosts=on', /load_balance_hosts other than disable, random/],
    ['postgres://h?hostaddr=127.0.0.1', /both host and hostaddr/],
    ['postgres://[::1', /host:port/],
    ['postgres://[]', /host:port/],
    ['postgres://[::1]z', /host:port/],
    ['postgres://::1/d', /port/],
    ['postgres://h?uzer=x', /the parameter "uzer", which is not known/],
    ['postgres://u:password@h:5432/d?sslmod=require', /the parameter "sslmod", which is not known/],
    ['postgres://h?sslmode', /parameter without a value/],
    ['postgres://h?connection_limit=1', /the parameter "connection_limit", which is not known/],
    ['postgres://h?gssencmode=require', /gssencmode other than disable, prefer/],
    ['postgres://h?sslnegotiation=direct', /sslnegotiation other than postgres/],
    [
      'postgres://h?target_session_attrs=master',
      /target_session_attrs other than any, read-write, primary, read-only, standby, prefer-standby/,
    ],
    ['postgres://h?target_session_attrs=', /empty target_session_attrs/],
    ['postgres://h?client_encoding=LATIN1', /client_encoding other than/],
    ['postgres://h?require_auth=scram-sha-256', /the parameter "require_auth", which is not known/],
  ])
})
