import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { describeError } from '../../../src/errors.ts'
import { isUnreachable } from '../../../src/store/client-server/errors.ts'
import {
  ConnectTime,
  checksRole,
  connectToHost,
  type HostChoice,
  isForReads,
  SESSION_ATTRS,
  type SilentHosts,
} from '../../../src/store/client-server/hosts.ts'
import { activeTimers } from '../../support/active-timers.ts'

/** What a host does: it takes connections, refuses them with an error, or never answers. */
type Behaviour = 'writable' | 'read-only' | 'silent' | Error

const REFUSED = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const WRONG_PASSWORD = new Error('password authentication failed')
const TIME = 3000

/** Connects to hosts that are named a, b, … */
async function connect(
  behaviours: readonly Behaviour[],
  { sessionAttrs, loadBalanceHosts = 'disable' }: Partial<HostChoice> = {},
  silent: SilentHosts = new Map(),
  time = TIME,
) {
  const hosts = behaviours.map((_, i) => ({ host: 'abcdefgh'[i], port: i + 1 }))
  let tried = ''
  const open = new Set<string>()
  const shares: number[] = []
  const before = activeTimers()
  const to = await connectToHost<string>(
    { hosts, sessionAttrs, loadBalanceHosts },
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
  ).finally(() => assert.ok(activeTimers() <= before, 'a timer would cut the connection'))
  assert.deepEqual([...open], [to], 'the others are not closed')
  return { to, tried, shares }
}

describe('the choice of a host', () => {
  // The time passes only while a host is silent, so that a busy machine takes none of it.
  beforeEach(() => mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 }))
  afterEach(() => mock.timers.reset())

  for (const [sessionAttrs, behaviours, expected] of [
    [undefined, ['writable', 'writable'], 'a'],
    [undefined, [REFUSED, 'read-only', 'writable', 'writable'], 'c'],
    ['any', [WRONG_PASSWORD, 'read-only'], 'b'],
    ['primary', ['read-only', 'writable'], 'b'],
    ['standby', ['writable', 'read-only'], 'b'],
    ['prefer-standby', ['writable', 'writable', 'read-only'], 'c'],
    ['prefer-standby', [REFUSED, 'writable', 'writable', REFUSED], 'b'],
  ] as const)
    it(`${sessionAttrs} of ${behaviours.join(', ')} is ${expected}`, async () =>
      assert.equal((await connect(behaviours, { sessionAttrs })).to, expected))

  it('is in the order of the hosts, or at random', async () => {
    const first = { disable: new Set<string>(), random: new Set<string>() }
    for (const loadBalanceHosts of ['disable', 'random'] as const)
      for (let i = 0; i < 200; i++) {
        const { to, tried } = await connect(['writable', REFUSED, 'writable'], { loadBalanceHosts })
        first[loadBalanceHosts].add(tried[0] ?? '')
        assert.notEqual(to, 'b')
      }
    assert.deepEqual([...first.disable], ['a'])
    assert.deepEqual([...first.random].toSorted(), ['a', 'b', 'c'])
  })

  it('throws the error of a single host as it is, and names each of several with its reason', async () => {
    await assert.rejects(connect([WRONG_PASSWORD]), (error) => error === WRONG_PASSWORD)
    await assert.rejects(connect(['read-only'], { sessionAttrs: 'primary' }), (error) => {
      assert.equal(describeError(error), 'the server is read-only, and primary is wanted')
      return isUnreachable(error)
    })
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

  it('leaves the hosts after a silent one enough time, and takes no longer in all', async () => {
    const two: Behaviour[] = ['silent', 'silent', 'writable']
    assert.deepEqual((await connect(two)).shares, [1000, 700, 1300])
    assert.deepEqual((await connect(['writable'])).shares, [TIME])
    assert.deepEqual((await connect(two, {}, new Map(), 1200)).shares, [500, 500, 200])
  })

  it('tries a host that was silent after the others for a while, with little time, unless it is the last', async () => {
    const silent: SilentHosts = new Map()
    const trial = async (...behaviours: Behaviour[]) => {
      const { tried, shares } = await connect(behaviours, {}, silent)
      return [tried, shares]
    }
    assert.deepEqual(await trial('silent', 'writable'), ['ab', [1000, 2000]])
    assert.deepEqual(await trial('writable', 'writable'), ['b', [1000]])
    mock.timers.setTime(Date.now() + 10_000)
    assert.deepEqual(await trial('writable', 'writable'), ['a', [500]])
    assert.deepEqual(await trial('writable', 'writable'), ['a', [1000]])
    await assert.rejects(trial('silent', 'silent'))
    assert.deepEqual(await trial('silent', 'writable'), ['ab', [500, 2500]])
    // One that refused at once has its usual place.
    silent.clear()
    for (let i = 0; i < 2; i++) assert.equal((await trial(REFUSED, 'writable'))[0], 'ab')
    // Each keeps its own reason.
    await assert.rejects(trial('silent', REFUSED))
    const inThisOrder = /: b:2: connect ECONNREFUSED; a:1: password authentication failed$/
    await assert.rejects(trial(WRONG_PASSWORD, REFUSED), inThisOrder)
  })

  it('says whether an instance has to be ready for writes', () => {
    const hosts = [{ host: 'a', port: 1 }]
    const forReads = [undefined, ...SESSION_ATTRS].filter((sessionAttrs) =>
      isForReads({ hosts, sessionAttrs, loadBalanceHosts: 'disable' }),
    )
    assert.deepEqual(forReads, ['any', 'read-only', 'standby', 'prefer-standby'])
    // A node of Galera that is not ready never suits.
    const several = [...hosts, ...hosts]
    assert.ok(checksRole({ hosts: several, sessionAttrs: 'any', loadBalanceHosts: 'disable' }))
  })
})

it('a connection that takes too long is cut, and not because this process stood still', async (t) => {
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
