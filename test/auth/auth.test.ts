import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Auth } from '../../src/auth/auth.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { EXP, expiringAt, hmacToken, NOW } from '../support/tokens.ts'

/** Token lifetime in seconds (§8). */
const LIFETIME = 900

const newAuth = (secret = SECRET) => new Auth(ACCOUNT, secret)

it('the login of the account is told from one that is canonically equivalent, has the same UTF-8, or swaps the fields', () => {
  const account = { username: 'e\u0301', password: '\ud800' }
  const auth = new Auth(account, SECRET)
  assert.ok(auth.matches(account))
  for (const other of [{ username: 'é' }, { password: '\ufffd' }, { username: '\ud800', password: 'u' }])
    assert.ok(!auth.matches({ ...account, ...other }))
})

// What else makes a token good or bad: test/spec.
describe('a token', () => {
  it('that was issued is valid for 15 minutes and no longer, to the millisecond, whether it was seen before or not', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
    const auth = newAuth()
    const issued = await auth.issue()
    for (const [token, end] of [
      [issued, NOW + LIFETIME],
      [expiringAt(NOW + 2.5), NOW + 2.5],
    ] as const)
      for (const [early, isValid] of [
        [1000, true],
        [1, true],
        [0, false],
      ] as const) {
        t.mock.timers.setTime(end * 1000 - early)
        const answers = [await newAuth().verify(token), await auth.verify(token), await auth.verify(token)]
        assert.deepEqual(answers, Array(3).fill(isValid), `${early} ms before ${end}`)
      }
    assert.equal(await auth.verify(await auth.issue()), true, 'one that is issued then')
    t.mock.timers.setTime(NOW * 1000)
    assert.equal(await auth.issue(), issued, 'after the clock was set back')
  })

  it('is valid from its nbf on, to the second, and signed with the UTF-8 bytes of the secret', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: NOW * 1000 })
    const secret = 'é漢📚'
    for (const [nbf, isValid] of [
      [NOW, true],
      [NOW + 1, false],
    ] as const)
      assert.equal(await newAuth(secret).verify(hmacToken({ exp: NOW + 1, nbf }, { secret })), isValid)
  })

  it('is answered at once if it is among the last 1,000 that were verified, so that memory is bounded', async () => {
    const auth = newAuth()
    const tokens = Array.from({ length: 1001 }, (_, i) => expiringAt(EXP + i))
    for (const token of tokens) assert.equal(await auth.verify(token), true)
    const long = hmacToken({ exp: EXP, filler: 'x'.repeat(400) })
    assert.equal(await auth.verify(long), true)
    const [first, second] = tokens as [string, string]
    assert.equal(auth.verify(second), true)
    for (const token of [first, long]) assert.ok(auth.verify(token) instanceof Promise)
  })
})
