import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Crowd } from '../../support/crowd.ts'
import { head } from '../../support/raw-socket.ts'
import { useService } from '../../support/use-service.ts'

const FILES = 512
const MANY = 700

const skip = process.platform === 'linux' ? false : 'needs prlimit'

describe(`${MANY} idle connections where the system allows ${FILES} files`, { skip }, () => {
  const service = useService((started) => started.createBook(), {}, [
    'sh',
    '-c',
    `ulimit -n ${FILES} && exec "$@"`,
    'sh',
  ])

  it('lock nobody out, leave the store its files, and are in the log', async () => {
    using crowd = new Crowd()
    await crowd.join(service.url, MANY, (socket) => socket.write(head('GET /nowhere')))
    for (let i = 0; i < 20; i++) {
      // Each on a connection of its own.
      const headers = { authorization: service.token, connection: 'close' }
      for (const [method, body] of [
        ['GET', null],
        ['PUT', '{"year":2}'],
      ] as const) {
        const response = await fetch(`${service.url}/book/1`, { method, body, headers })
        assert.equal(response.status, 200)
        await response.arrayBuffer()
      }
    }
    const search = await fetch(`${service.url}/books?q=t`, { headers: { authorization: service.token } })
    assert.equal(search.status, 200)
    while (!service.output().includes('too many connections')) await setTimeout(10)
    assert.equal(service.output().match(/too many connections/g)?.length, 1)
  })
})
