import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { SERVER_ENGINES } from './engine-servers.ts'
import { beginStart, timeToEnd } from './starting.ts'

/** How long a start may take that waits for nothing, in milliseconds: half of what one takes that waits. */
const AT_ONCE = 15_000

const WRONG = 'wrong-password'

type Change = (url: URL) => void

const UNUSABLE: [name: string, change: Change, reason: RegExp][] = [
  ['a wrong password', (url) => Object.assign(url, { password: WRONG }), /password|access denied/i],
  ['an unknown user', (url) => Object.assign(url, { username: 'nobody' }), /password|access denied/i],
  ['an unknown database', (url) => Object.assign(url, { pathname: '/missing' }), /missing/],
]

for (const engine of SERVER_ENGINES) {
  describe(`the start of the service on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)

    for (const [name, change, reason] of UNUSABLE) {
      it(`with ${name}: ends at once with one line that says so, without a password`, async (t) => {
        const url = new URL(await (await databases()).createDatabase())
        const { password } = url
        change(url)
        const started = beginStart(t, url.href)
        const time = await timeToEnd(started)
        const text = started.output()
        assert.match(text, /^Cannot start: DB_URL: [^\n]+\n$/)
        assert.match(text, reason)
        for (const secret of [password, WRONG]) assert.ok(!text.includes(secret), text)
        assert.ok(time < AT_ONCE, `it took ${time} ms`)
      })
    }
  })
}
