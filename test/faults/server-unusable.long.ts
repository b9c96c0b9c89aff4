import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { SERVER_ENGINES } from './engine-servers.ts'
import { beginStart, endsInVain } from './starting.ts'

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
        await endsInVain(started)
        const text = started.output()
        // One that waited would say so.
        assert.match(text, /^Cannot start: DB_URL: [^\n]+\n$/)
        assert.match(text, reason)
        for (const secret of [password, WRONG]) assert.ok(!text.includes(secret), text)
      })
    }
  })
}
