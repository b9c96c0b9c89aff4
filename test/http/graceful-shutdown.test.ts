import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { drainable } from '../../src/http/graceful-shutdown.ts'
import { activeTimers } from '../support/active-timers.ts'
import { head } from '../support/raw-socket.ts'

it('a connection that the system has made, but the server has not accepted yet, is served before the end', async () => {
  const server = createServer((_request, response) => response.end('served'))
  const drain = drainable(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const sockets = Array.from({ length: 20 }, () => connect({ host: '127.0.0.1', port }))
  const responses = sockets.map(async (socket) => {
    let text = ''
    socket.setEncoding('latin1').on('data', (more) => {
      text += more
    })
    socket.write(head('GET /'))
    await once(socket, 'close')
    return text
  })
  // They connect in the next tick, and Node accepts one in each turn.
  await Promise.all([new Promise(process.nextTick), nextTurn()])
  const before = activeTimers()
  await drain()
  assert.ok(activeTimers() <= before, 'none keeps the program from ending')
  for (const text of await Promise.all(responses)) assert.match(text, /served/)
})
