import { describe, it } from 'node:test'
import { assertAnswer, call, targets } from './client.ts'

for (const target of targets()) {
  describe(`login (${target.name})`, () => {
    it('§4 POST /token: "username or password differs from the configured account" is 401 Invalid credentials', async () => {
      const reply = await call(target, 'POST', '/token', {
        json: { username: target.username, password: 'x' },
      })
      assertAnswer(reply, 401, 'Invalid credentials', null)
    })
  })
}
