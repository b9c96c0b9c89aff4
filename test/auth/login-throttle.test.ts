import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientOf, LoginThrottle } from '../../src/auth/login-throttle.ts'

const MINUTE = 60_000
const WINDOW = 15 * MINUTE

/** A time of the test, in milliseconds. */
const START = 1_800_000_000_000

const ADDRESS = '192.0.2.1'

describe('the limit of failed logins', () => {
  it('slides: the wait lasts until the oldest failure that counts is 15 minutes old, to the second', () => {
    const logins = new LoginThrottle(3)
    const refused = [0, 1, 2].map((time) => logins.recordFailure(ADDRESS, START + time * MINUTE))
    assert.deepEqual(refused, [false, false, true])
    assert.equal(logins.wait(ADDRESS, START + 2 * MINUTE), 13 * 60)
    assert.equal(logins.wait(ADDRESS, START + WINDOW - 1), 1)
    assert.equal(logins.wait(ADDRESS, START + WINDOW), 0)
    assert.equal(logins.recordFailure(ADDRESS, START + WINDOW), true, 'with the two of the last 14 minutes')
    assert.equal(logins.wait(ADDRESS, START + WINDOW), 60)
  })

  it('does not count what it refuses, right or wrong', (t) => {
    // Not of a clock that somebody may set.
    let now = START
    t.mock.method(performance, 'now', () => now)
    const logins = new LoginThrottle(1)
    assert.deepEqual(logins.attempt(ADDRESS, false), { wait: 0, reachedLimit: true })
    now += MINUTE
    for (const isRight of [true, false])
      assert.deepEqual(logins.attempt(ADDRESS, isRight), { wait: 14 * 60, reachedLimit: false })
    assert.equal(logins.wait(ADDRESS, START + WINDOW), 0)
  })

  it('may be 0, and then no address ever waits', () => {
    const logins = new LoginThrottle(0)
    for (let i = 0; i < 2; i++)
      assert.deepEqual(logins.attempt(ADDRESS, false), { wait: 0, reachedLimit: false })
  })
})

for (const [address, same, others] of [
  ['192.0.2.1', ['::ffff:192.0.2.1', '::ffff:c000:201', '192.0.2.1:1234'], ['192.0.2.2']],
  ['2001:db8:1:2::1', ['2001:0DB8:1:02::', '[2001:db8:1:2::]', '[2001:db8:1:2::8]:1'], ['2001:db8:1:3::1']],
  ['::1', ['::2'], ['1::', '0.0.0.1', '::ffff:0.0.0.1']],
  ['1::4:5:6:7:8', ['1:0:0:4::'], ['1:0:0:5::', '1::']],
  ['fe80::1%eth0', ['fe80::2'], ['fe81::1']],
  ['junk', ['other junk', '', '1.2.3', '1.2.3.4.5', '[]:1', 'x'.repeat(16_000)], ['0.0.0.0', '::']],
] as const)
  it(`${address} counts as one address with ${same[0]}`, () => {
    const logins = new LoginThrottle(1)
    assert.ok(logins.recordFailure(address, START))
    for (const spelling of [address, ...same]) {
      assert.ok(logins.wait(spelling, START) > 0, spelling)
      assert.equal(clientOf(spelling), clientOf(address))
    }
    for (const other of others) {
      assert.equal(logins.wait(other, START), 0, other)
      assert.notEqual(clientOf(other), clientOf(address))
    }
  })

it('the memory of failed logins is bounded under many addresses, and forgets the oldest first', () => {
  const address = (i: number) => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`
  const logins = new LoginThrottle(5)
  const [all, remembered] = [72_000, Math.floor(1_000_000 / (9 + 5))]
  for (let i = 0; i < all; i++) for (let n = 0; n < 5; n++) logins.recordFailure(address(i), START + i)
  const found = Array.from({ length: all }, (_, i) => logins.wait(address(i), START) > 0)
  assert.equal(found.filter(Boolean).length, remembered)
  assert.equal(found.indexOf(true), all - remembered)
})

it('a /48 of IPv6 may fail four times as often as one address, and no other waits with it', () => {
  const logins = new LoginThrottle(2)
  // The last two are of one address, which then has to wait itself.
  const failures = Array.from({ length: 8 }, (_, i) =>
    logins.recordFailure(`2001:db8:1:${Math.min(i, 6)}::1`, START),
  )
  assert.deepEqual(failures, [false, false, false, false, false, false, false, true])
  assert.ok(logins.wait('2001:db8:1:ffff::1', START) > 0)
  for (const other of ['2001:db8:2::1', '2001:db9:1::1', '2002:db8:1::1'])
    assert.equal(logins.wait(other, START), 0, other)
})
