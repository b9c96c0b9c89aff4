import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Crowd } from '../support/crowd.ts'
import { head } from '../support/raw-socket.ts'
import { useService } from '../support/use-service.ts'

const SOME = 200

const service = useService((started) => started.createBook())
const readBook = () => head('GET /book/1', `Authorization: ${service.token}`)

// Clients that are slow: test/spec/decisions-slow.long.ts and test/http/protocol/connections.test.ts.
for (const [when, request, statuses] of [
  ['before a request are closed at once', () => '', [0]],
  ['amid headers are refused at once', () => readBook().slice(0, -2), [0, 400]],
  ['before a body are refused at once', () => head('POST /token', 'Content-Length: 9'), [0, 400]],
  ['after a request get their response, then the end', readBook, [200]],
] as const)
  it(`${SOME} connections that are half closed ${when}`, async () => {
    using crowd = new Crowd()
    await crowd.join(service.url, SOME, (socket) => socket.end(request()))
    // Until the service has ended every connection.
    while (crowd.open > 0) await setTimeout(20)
    const others = [...crowd.statuses().keys()].filter((status) => !statuses.some((one) => one === status))
    assert.deepEqual(others, [])
    assert.doesNotMatch(service.output(), /"level":[456]0/)
  })
