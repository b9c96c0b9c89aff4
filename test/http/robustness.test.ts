import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { head, RawConnection } from '../support/raw-socket.ts'
import { useService } from '../support/use-service.ts'

const service = useService(undefined, { LOG_LEVEL: 'debug', TRUST_PROXY: 'true' })

it('a client that resets its connection harms nobody', async () => {
  for (const line of ['CONNECT a:1', 'GET /books', 'BREW /coffee'])
    for (let i = 0; i < 50; i++) {
      const connection = await RawConnection.open(service.url)
      await connection.send(head(line))
      connection.reset()
    }
  const response = await fetch(`${service.url}/books`, { headers: { authorization: service.token } })
  assert.equal(response.status, 200)
})

it('line breaks and terminal escapes get into no header and no line of the log', async () => {
  for (const evil of ['\r\nX-Evil: 1', '\n{"level":60}', '\x1b[2J', '\x9b2J', '\u2028']) {
    using connection = await RawConnection.open(service.url)
    const fields = [`X-Request-Id: a${evil}`, 'X-Forwarded-For: \x9b31m']
    await connection.send(Buffer.from(head(`GET /${encodeURIComponent(evil)}`, ...fields), 'latin1'))
    const response = await connection.response()
    assert.equal(response.headers.has('x-evil'), false)
    // What the parser refuses has no id.
    assert.match(response.headers.get('x-request-id') ?? 'none', /^(?:a|none|[\da-f-]{36})$/)
  }
  while (!service.output().includes('u009b31m')) await setTimeout(10)
  const whole = service.output().replace(/[^\n]*$/, '')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  assert.doesNotMatch(whole, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
  for (const line of whole.trimEnd().split('\n')) assert.ok(JSON.parse(line).level < 60, line)
})
