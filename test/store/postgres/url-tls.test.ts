import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TLS_MODES } from '../../../src/store/client-server/tls.ts'
import { parsePostgresKeywords, parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { filled, means, refuses, url } from './target.ts'

describe('TLS in the URL of a PostgreSQL database', () => {
  means(url, [
    ...TLS_MODES.map((mode) => [`postgres://h?sslmode=${mode}`, { host: 'h', tls: { mode } }] as const),
    ['postgres://h?ssl=true', { host: 'h', tls: { mode: 'require' } }],
    ['postgres://h?ssl=true&sslmode=verify-full', { host: 'h', tls: { mode: 'verify-full' } }],
    ['postgres://h?sslmode=verify-full&ssl=true', { host: 'h', tls: { mode: 'verify-full' } }],
    [
      'postgres://h?sslmode=verify-ca&sslrootcert=/a%20b/ca.pem',
      { host: 'h', tls: { mode: 'verify-ca', authority: '/a b/ca.pem' } },
    ],
    ['postgres://h?sslcert=c.pem&sslkey=k.pem', { host: 'h', tls: { certificate: 'c.pem', key: 'k.pem' } }],
    ['postgres://h?sslrootcert=system', { host: 'h', tls: { mode: 'verify-full', authority: 'system' } }],
    [
      'postgres://h?sslrootcert=system&sslmode=verify-full',
      { host: 'h', tls: { mode: 'verify-full', authority: 'system' } },
    ],
    ['postgres://h?sslrootcert=', { host: 'h' }],
  ])

  refuses(url, [
    ['postgres://h?sslmode=no-verify', /sslmode other than/],
    ['postgres://h?sslmode=on', /sslmode other than disable, allow, prefer, require, verify-ca, verify-full/],
    ['postgres://h?sslmode=REQUIRE', /sslmode other than/],
    ['postgres://h?sslmode=', /empty sslmode/],
    ['postgres://h?ssl=1', /the parameter "ssl", which is not known/],
    ['postgres://h?channel_binding=yes', /channel_binding other than disable, prefer, require/],
    ['postgres://h?channel_binding=', /empty channel_binding/],
    [
      'postgres://h?sslrootcert=system&sslmode=require',
      /sslrootcert=system, which needs sslmode=verify-full/,
    ],
    ['postgres://h?sslcert=c.pem', /only one of the two files/],
    ['postgres://h?sslkey=k.pem', /only one of the two files/],
    ['postgres://h?sslcrl=/crl.pem', /the parameter "sslcrl", which is not known/],
  ])

  it('is asked for by the variables of libpq too, of which the URL replaces each', () => {
    const environment = {
      PGSSLMODE: 'verify-ca',
      PGSSLROOTCERT: 'ca.pem',
      PGSSLCERT: 'c.pem',
      PGSSLKEY: 'k.pem',
      PGCHANNELBINDING: 'require',
    }
    const tls = { mode: 'verify-ca', authority: 'ca.pem', certificate: 'c.pem', key: 'k.pem' } as const
    const given = filled({ host: 'h', tls, channelBinding: 'require' })
    assert.deepEqual(parsePostgresUrl('postgres://h', environment), given)
    assert.deepEqual(parsePostgresKeywords('host=h', environment), given)
    assert.deepEqual(
      parsePostgresUrl('postgres://h?sslmode=verify-full&channel_binding=disable', environment),
      {
        ...given,
        tls: { ...tls, mode: 'verify-full' },
        channelBinding: 'disable',
      },
    )
    assert.throws(() => parsePostgresUrl('postgres://h', { PGSSLMODE: 'on' }), /sslmode other than/)
    assert.deepEqual(parsePostgresUrl('postgres://h', { PGSSLMODE: '' }), filled({ host: 'h' }))
  })
})
