import { describe } from 'node:test'
import { at, FULL, keywords, means, refuses } from './target.ts'

describe("libpq's form of name=value", () => {
  means(keywords, [
    ['user=u password=p host=h port=5433 dbname=d', FULL],
    [' user = u\tpassword =p\nhost= h port=5433 dbname=d ', FULL],
    ["user='u' password='p' host='h' port='5433' dbname='d'", FULL],
    ["dbname=d password='two words'", { database: 'd', password: 'two words' }],
    ["dbname=d password='it\\'s \\\\ \\a'", { database: 'd', password: "it's \\ a" }],
    ["dbname=d password=it\\'s\\ \\\\", { database: 'd', password: "it's \\" }],
    ["dbname=d password=''", { database: 'd' }],
    ['dbname=d password=a=b%20@/?#', { database: 'd', password: 'a=b%20@/?#' }],
    ['host=/run/postgresql dbname=d', { host: '/run/postgresql', database: 'd' }],
    ["host=h options='-c search_path=x'", { host: 'h', options: '-c search_path=x' }],
    [
      'host=h sslmode=require channel_binding=require',
      { host: 'h', tls: { mode: 'require' }, channelBinding: 'require' },
    ],
    ['host=h port=1 port=2', { host: 'h', port: 2 }],
    ['host=a,::1 port=5433', { hosts: [at('a', 5433), at('::1', 5433)] }],
    ['host=a,/run/postgresql port=1,2', { hosts: [at('a', 1), at('/run/postgresql', 2)] }],
    ['host=a,b', { hosts: [at('a'), at('b')] }],
    ['host=h target_session_attrs=read-write', { host: 'h', sessionAttrs: 'read-write' }],
    // As in libpq, the value is what comes next.
    ['host=h password= user=u', { host: 'h', password: 'user=u' }],
  ])

  refuses(keywords, [
    ['host', /form name=value/],
    ['host=h dbname', /form name=value/],
    ["host=h password='x", /form name=value/],
    ["host=h password='x'y", /form name=value/],
    ["host=h password=x'y", /form name=value/],
    ['host=h password=x\\', /form name=value/],
    ['host=h1,,h2', /empty host/],
    ['host=h1,h2 port=1,2,3', /another number of ports/],
    ['host=h port=1,2', /another number of ports/],
    ['host=h sslmod=require', /the parameter "sslmod", which is not known/],
    ['HOST=h', /the parameter "HOST", which is not known/],
    ['service=x host=h', /the parameter "service", which is not known/],
    ['host=h sslmode=', /empty sslmode/],
  ])
})
