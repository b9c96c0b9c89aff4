import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { it } from 'node:test'
import { OperatorError } from '../../src/errors.ts'
import { listen, stopListening } from '../../src/http/listen.ts'

const at = (host: string | undefined) => ({ host, port: 0, setting: 'PORT' })

// Names and addresses of their own: test/cli/main.test.ts.
it('a server on every address is at localhost', async () => {
  for (const host of [undefined, '0.0.0.0', '::']) {
    const server = createServer()
    assert.match(await listen(server, at(host)), /^http:\/\/localhost:\d+$/)
    await stopListening(server)
  }
})

it('an address that needs an interface beside it is refused with advice', async () => {
  const isRight = (error: Error) =>
    error instanceof OperatorError && /^HOST: fe80::1 cannot be listened on/.test(error.message)
  await assert.rejects(listen(createServer(), at('fe80::1')), isRight)
})
