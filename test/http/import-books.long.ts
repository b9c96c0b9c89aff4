import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { json } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { assertFailure, head, RawConnection } from '../support/raw-socket.ts'
import { type ServiceInUse, useService } from '../support/use-service.ts'

/** A client that sends so much in this time sends enough; in milliseconds. It is longer than other requests may take. */
const LONG = 34_000

/** Rows of 6 bytes: 1 KiB for each second until the next are sent. */
const ENOUGH = 3000

const HEADER = 'title,author,year\n'

const MIB = 1024 * 1024

describe('POST /books/import', { concurrency: true }, () => {
  const small = useService(undefined, { IMPORT_LIMIT: '1' })
  const brief = useService()
  const left = useService()

  it('answers a dry run that it does not read to the end, and gives the next request only the usual time', async () => {
    using connection = await RawConnection.open(brief.url)
    const file = `title,author,year\n${'x\n'.repeat(500_000)}`
    const fields = [
      `Authorization: ${brief.token}`,
      'Content-Type: text/csv',
      `Content-Length: ${file.length}`,
    ]
    await connection.send(head('POST /books/import?dry_run=true', ...fields) + file)
    assert.equal(JSON.parse((await connection.response()).body).data.faulty, 10_000)
    await connection.send(head('GET /healthz').slice(0, -2))
    assertFailure(await connection.response(), 408, 'Request timeout')
  })

  it('stores nothing for a client that has gone, although its whole file had come', async () => {
    const authorization = left.token
    const importing = async () => {
      const init = { method: 'POST', headers: { authorization, 'content-type': 'text/csv' }, body: HEADER }
      return (await fetch(`${left.url}/books/import?dry_run=true`, init)).status === 503
    }
    using other = new DatabaseSync(join(left.directory, 'books.db'), { timeout: 60_000 })
    other.exec('BEGIN IMMEDIATE')
    // The import waits for this write, and this one for the other's lock.
    const created = left.createBook()
    const { hostname, port } = new URL(left.url)
    const socket = connect(Number(port), hostname)
    const file = `${HEADER}T,A,1\n`
    const fields = [
      `Authorization: ${authorization}`,
      'Content-Type: text/csv',
      `Content-Length: ${file.length}`,
      'Expect: 100-continue',
    ]
    socket.write(head('POST /books/import', ...fields))
    await once(socket, 'data')
    socket.write(file)
    // The service reads the file once a thread has started.
    await setTimeout(500)
    socket.resetAndDestroy()
    await (await fetch(`${left.url}/healthz`)).text()
    other.exec('ROLLBACK')
    await created
    while (await importing()) await setTimeout(10)
    const list = await fetch(`${left.url}/books`, { headers: { authorization } })
    assert.equal(((await list.json()) as { data: unknown[] }).data.length, 1)
  })

  it('refuses a file over the limit, said before or found out, and then takes another', async () => {
    const tooLarge = { status: 413, message: 'Request body too large', data: null }
    const said = beginImport(small, { 'content-length': String(MIB + 1) })
    assert.deepEqual(await said.response, tooLarge)
    said.sending.destroy()
    const found = beginImport(small)
    found.sending.write('T,A,1\n'.repeat(MIB / 6))
    found.sending.end('T,A,1\n')
    assert.deepEqual(await found.response, tooLarge)
    const largest = 'T,A,1\n'.repeat(ENOUGH).padEnd(MIB - HEADER.length, '\n')
    for (const headers of [{ 'content-length': String(MIB) }, {}]) {
      const good = beginImport(small, { ...headers, 'content-type': 'Text/CSV' })
      good.sending.end(largest)
      assert.equal(((await good.response) as { data: { rows: number } }).data.rows, ENOUGH)
    }
  })
})

describe('POST /books/import of a slow client', { concurrency: true }, () => {
  const slow = useService()
  const dripped = useService()

  it('takes as long as its client takes, and keeps a second one waiting', async () => {
    const { sending, response } = beginImport(slow, { expect: '100-continue' })
    await once(sending, 'continue')
    const second = beginImport(slow)
    assert.deepEqual(await second.response, { status: 503, message: 'Service unavailable', data: null })
    second.sending.destroy()
    for (let sent = 0; sent < 2; sent++) {
      await setTimeout(LONG / 2)
      sending.write('T,A,1\n'.repeat(ENOUGH))
    }
    sending.end()
    const { data } = (await response) as { data: { added: number } }
    assert.equal(data.added, 2 * ENOUGH)
  })

  it('answers a client that sends next to nothing with 408, and closes its connection; then others can import', async () => {
    using connection = await RawConnection.open(dripped.url)
    const fields = [`Authorization: ${dripped.token}`, 'Content-Type: text/csv', 'Content-Length: 1000']
    await connection.send(`${head('POST /books/import', ...fields)}title,author,year\n`)
    const drip = setInterval(() => connection.send(','), 1000)
    const response = await connection.response()
    assertFailure(response, 408, 'Request timeout')
    assert.equal(response.headers.get('connection'), 'close')
    assert.equal(await connection.rest(), '')
    clearInterval(drip)
    const good = beginImport(dripped)
    good.sending.end('T,A,1\n')
    assert.equal(((await good.response) as { data: { added: number } }).data.added, 1)
    assert.doesNotMatch(dripped.output(), /"level":[456]0/)
  })
})

/** Begins the import of a file of CSV, of which only the header is sent. */
function beginImport(
  service: ServiceInUse,
  headers: Record<string, string> = {},
): { sending: ClientRequest; response: Promise<unknown> } {
  const answer = Promise.withResolvers<unknown>()
  const options = {
    method: 'POST',
    headers: { authorization: service.token, 'content-type': 'text/csv', ...headers },
  }
  const sending = request(`${service.url}/books/import`, options, (response) => {
    json(response).then(answer.resolve, answer.reject)
  })
  sending.on('error', answer.reject)
  sending.write(HEADER)
  return { sending, response: answer.promise }
}
