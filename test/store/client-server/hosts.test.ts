import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { describeError } from '../../../src/errors.ts'
import { isUnreachable } from '../../../src/store/client-server/errors.ts'
import {
  ConnectTime,
  connectToHost,
  type HostChoice,
  isForReads,
  SESSION_ATTRS,
  type SilentHosts,
} from '../../../src/store/client-server/hosts.ts'
import * as mysql from '../../../src/store/mysql/errors.ts'
import * as postgres from '../../../src/store/postgres/errors.ts'

/** What a host does: it takes connections, refuses them with an error, or never answers. */
type Behaviour = 'writable' | 'read-only' | 'silent' | Error

const REFUSED = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const WRONG_PASSWORD = new Error('password authentication failed')
const TIME = 3000

/** Connects to hosts that are named a, b, … */
async function connect(
  behaviours: readonly Behaviour[],
  choice: Partial<HostChoice> = {},
  time = TIME,
  silent: SilentHosts = new Map(),
): Promise<{
  readonly to: string
  readonly tried: string
  readonly open: string
  readonly shares: number[]
}> {
  const hosts = behaviours.map((_, i) => ({ host: 'abcdefgh'[i], port: i + 1 }))
  let tried = ''
  const open = new Set<string>()
  const shares: number[] = []
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const to = await connectToHost<string>(
    { hosts, sessionAttrs: undefined, loadBalanceHosts: 'disable', ...choice },
    time,
    silent,
    async ({ host = '', port }, { milliseconds }) => {
      tried += host
      shares.push(Math.round(milliseconds / 100) * 100)
      const behaviour = behaviours[Number(port) - 1]
      if (behaviour === 'silent') {
        mock.timers.setTime(Date.now() + Math.max(0, milliseconds))
        throw new Error('took too long')
      }
      if (behaviour instanceof Error) throw behaviour
      open.add(host)
      return [host, behaviour === 'read-only']
    },
    (host) => assert.ok(open.delete(host)),
  ).finally(() => assert.ok(timers() <= before, 'a timer would cut the connection'))
  return { to, tried, open: [...open].join(''), shares }
}

describe('a server is not ready', () => {
  const sent = (error: object) => Object.assign(new Error('starting up'), error)
  const starting = Object.assign(new pg.DatabaseError('starting up', 0, 'error'), { code: '57P03' })
  const refused = Object.assign(new pg.DatabaseError('password', 0, 'error'), { code: '28P01' })

  for (const [name, meaningOf, ready, notReady] of [
    ['PostgreSQL', postgres.meaningOf, refused, starting],
    [
      'MySQL',
      mysql.meaningOf,
      sent({ errno: 1045, sqlState: '28000' }),
      sent({ errno: 1053, sqlState: '08S01' }),
    ],
  ] as const) {
    it(`if one of several is not: ${name}`, () => {
      const isNotReady = (error: Error) => meaningOf(error).isNotReady === true
      assert.equal(isNotReady(new AggregateError([ready, ready])), false)
      assert.equal(isNotReady(new AggregateError([ready, notReady])), true)
      assert.equal(isNotReady(new AggregateError([ready, REFUSED])), true)
    })
  }
})

describe('the choice of a host', () => {
  // The time passes only while a host is silent, so that a busy machine takes none of it.
  beforeEach(() => mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 }))
  afterEach(() => mock.timers.reset())

  for (const [attrs, behaviours, expected] of [
    [undefined, ['read-only'], 'a'],
    [undefined, ['writable', 'writable'], 'a'],
    [undefined, [REFUSED, 'read-only', 'writable', 'writable'], 'c'],
    ['any', ['read-only', 'writable'], 'a'],
    ['any', [WRONG_PASSWORD, 'read-only'], 'b'],
    ['read-write', ['read-only', 'writable'], 'b'],
    ['primary', ['read-only', 'writable'], 'b'],
    ['read-only', ['writable', 'read-only'], 'b'],
    ['standby', ['writable', 'read-only'], 'b'],
    ['prefer-standby', ['writable', 'writable', 'read-only'], 'c'],
    ['prefer-standby', [REFUSED, 'writable', 'writable', REFUSED], 'b'],
  ] as const) {
    it(`${attrs} of ${behaviours.map((each) => (each instanceof Error ? 'refused' : each)).join(', ')} is ${expected}`, async () => {
      const { to, open } = await connect(behaviours, { sessionAttrs: attrs })
      assert.equal(to, expected)
      assert.equal(open, expected, 'the others are not closed')
    })
  }

  it('is in the order of the hosts', async () => {
    for (let i = 0; i < 20; i++) assert.equal((await connect(Array(8).fill('writable'))).to, 'a')
  })

  it('may be at random', async () => {
    const first = new Set<string>()
    for (let i = 0; i < 200; i++) {
      const { to, tried } = await connect(['writable', REFUSED, 'writable'], { loadBalanceHosts: 'random' })
      first.add(tried[0] ?? '')
      assert.notEqual(to, 'b')
    }
    assert.deepEqual([...first].toSorted(), ['a', 'b', 'c'])
  })

  it('throws the error of a single host as it is', async () => {
    await assert.rejects(connect([WRONG_PASSWORD]), (error) => error === WRONG_PASSWORD)
    await assert.rejects(connect(['read-only'], { sessionAttrs: 'primary' }), (error) => {
      assert.equal(describeError(error), 'the server is read-only, and primary is wanted')
      return isUnreachable(error)
    })
  })

  it('names each of several hosts with its reason', async () => {
    await assert.rejects(connect([WRONG_PASSWORD, 'read-only', REFUSED]), (error) => {
      assert.ok(error instanceof AggregateError)
      assert.deepEqual([error.errors[0], error.errors[2]], [WRONG_PASSWORD, REFUSED])
      assert.equal(
        describeError(error),
        'no host can be used: a:1: password authentication failed; ' +
          'b:2: the server is read-only, and read-write is wanted; c:3: connect ECONNREFUSED',
      )
      return isUnreachable(error)
    })
    await assert.rejects(connect([WRONG_PASSWORD, WRONG_PASSWORD]), (error) => !isUnreachable(error))
  })

  it('leaves the hosts after a silent one enough time', async () => {
    const { to, shares } = await connect(['silent', 'silent', 'writable'])
    assert.equal(to, 'c')
    assert.deepEqual(shares, [1000, 700, 1300])
    assert.deepEqual((await connect(['writable'])).shares, [TIME])
  })

  it('gives each host enough time to connect, as long as there is some, and takes no longer in all', async () => {
    const begin = Date.now()
    await assert.rejects(connect(['silent', 'silent', 'silent', 'silent'], {}, 1200), {
      message: /d:4: took too long/,
    })
    assert.equal(Date.now() - begin, 1200)
    assert.deepEqual((await connect(['silent', 'silent', 'writable'], {}, 1200)).shares, [500, 500, 200])
  })

  it('tries a host that was silent after the others for a while, and gives it little time', async () => {
    const silent: SilentHosts = new Map()
    const hosts: Behaviour[] = ['silent', 'writable', 'read-only']
    assert.equal((await connect(hosts, {}, TIME, silent)).tried, 'ab')
    assert.equal((await connect(hosts, {}, TIME, silent)).tried, 'b')
    hosts[1] = 'read-only'
    const begin = Date.now()
    await assert.rejects(connect(hosts, {}, TIME, silent), /b:2: .*; c:3: .*; a:1: took too long/)
    assert.equal(Date.now() - begin, 500)
    mock.timers.setTime(Date.now() + 10_000)
    hosts[0] = new Error('refused')
    await assert.rejects(connect(hosts, {}, TIME, silent), /a:1: refused; b:2: .*; c:3/)
    hosts[0] = 'writable'
    assert.deepEqual((await connect(hosts, {}, TIME, silent)).shares, [500])
    assert.deepEqual((await connect(hosts, {}, TIME, silent)).shares, [1000])
  })

  it('gives a single host all the time, also after it was silent', async () => {
    const silent: SilentHosts = new Map()
    await assert.rejects(connect(['silent'], {}, TIME, silent))
    assert.deepEqual((await connect(['writable'], {}, TIME, silent)).shares, [TIME])
  })

  it('tries a host that refused at once in its usual place', async () => {
    const silent: SilentHosts = new Map()
    for (let i = 0; i < 2; i++)
      assert.equal((await connect([REFUSED, 'writable'], {}, TIME, silent)).tried, 'ab')
  })

  it('says whether an instance has to be ready for writes', () => {
    const choice = { hosts: [{ host: 'a', port: 1 }], loadBalanceHosts: 'disable' } as const
    const forReads = [undefined, ...SESSION_ATTRS].filter((sessionAttrs) =>
      isForReads({ ...choice, sessionAttrs }),
    )
    assert.deepEqual(forReads, ['any', 'read-only', 'standby', 'prefer-standby'])
  })
})

describe('a connection that takes too long', () => {
  it('is cut, and not because this process stood still', async (t) => {
    const stream = new PassThrough()
    const cut = once(stream, 'error')
    const time = new ConnectTime(300)
    t.after(() => time.end())
    time.cut(() => stream)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
    await setTimeout(1)
    assert.equal(stream.destroyed, false)
    const [error] = await cut
    assert.ok(isUnreachable(error), String(error))
  })
})
