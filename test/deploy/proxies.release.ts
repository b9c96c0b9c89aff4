import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'
import { ACCOUNT } from '../support/service.ts'
import { behindEachProxy, COUNTED, IMPORT_LIMIT } from './behind-proxy.ts'

behindEachProxy((way) => {
  async function send(method: string, path: string, body = '', options: RequestOptions = {}) {
    const { url, agent, service } = way()
    const headers = { authorization: service.token, ...options.headers }
    const sent = request(url + path, { agent, host: '127.0.0.1', ...options, method, headers }).end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const { statusCode: status, socket } = response
    return { status, socket, text: await text(response) }
  }

  it('takes a log-in of a page from its own origin only', async () => {
    const { url } = way()
    const logIn = (origin: string) =>
      send('POST', '/token', JSON.stringify(ACCOUNT), { headers: { origin, host: new URL(url).host } })
    assert.equal((await logIn(url)).status, 200)
    assert.equal((await logIn('https://elsewhere.example')).status, 403)
  })

  it('takes files up to IMPORT_LIMIT, and refuses larger ones itself', async () => {
    const limit = IMPORT_LIMIT * 2 ** 20
    const row = 'A title,An author,1999\n'
    const csv = `title,author,year\n${row.repeat(limit / row.length - 1)}`.padEnd(limit, '\n')
    const headers = { 'content-type': 'text/csv' }
    assert.match((await send('POST', '/books/import', csv, { headers })).text, /"added":18\d{4},/)
    const refused = await send('POST', '/books/import', 'title,author,year\n', {
      agent: new Agent({ ca: readFileSync(way().caFile) }),
      headers: { ...headers, 'content-length': limit + 1 },
    })
    assert.equal(refused.text, '{"status":413,"message":"Request body too large","data":null}')
  })

  it('keeps the connections of the client and to the service', async () => {
    const used = new Set<unknown>()
    for (let time = 0; time < 30; time++) {
      const { status, socket } = await send('GET', COUNTED)
      assert.equal(status, 200)
      used.add(socket)
    }
    assert.equal(used.size, 1)
    // Caddy may take another connection before it has put the last one back.
    assert.ok(way().relay.used.size < 30, `${way().relay.used.size} connections`)
  })

  it('counts failed log-ins by the address of the client, whatever it claims to be', async () => {
    const fail = (localAddress: string, claim: string) =>
      send('POST', '/token', '{"username":"","password":""}', {
        localAddress,
        agent: new Agent({ ca: readFileSync(way().caFile) }),
        headers: { 'x-forwarded-for': claim },
      })
    for (let time = 0; time < 100; time++)
      assert.equal((await fail('127.0.0.2', `192.0.2.${time}`)).status, 401)
    assert.equal((await fail('127.0.0.2', '192.0.2.200')).status, 429)
    assert.equal((await fail('127.0.0.3', '127.0.0.2')).status, 401)
  })
})
