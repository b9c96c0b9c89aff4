import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { assertFailure, head, RawConnection } from '../support/raw-socket.ts'
import { useService } from '../support/use-service.ts'
import { beginImport, HEADER } from './begin-import.ts'

/** How many rows of 6 bytes. */
const ENOUGH = 3000

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
    assert.equal(JSON.parse((await connection.answer()).body).data.faulty, 10_000)
    await connection.send(head('GET /healthz').slice(0, -2))
    assertFailure(await connection.answer(), 408, 'Request timeout')
  })

  it('stores nothing for a client that has gone, although its whole file had come', async () => {
    const authorization = left.token
    const importing = async () => {
      const init = { method: 'POST', headers: { authorization, 'content-type': 'text/csv' }, body: HEADER }
      return (await fetch(`${left.url}/books/import?dry_run=true`, init)).status === 503
    }
    using other = new DatabaseSync(join(left.directory, 'books.db'))
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
    ]
    socket.write(head('POST /books/import', ...fields) + file)
    while (!(await importing())) await setTimeout(10)
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
    assert.deepEqual(await said.answer, tooLarge)
    said.sending.destroy()
    const found = beginImport(small)
    found.sending.write('T,A,1\n'.repeat(MIB / 6))
    found.sending.end('T,A,1\n')
    assert.deepEqual(await found.answer, tooLarge)
    const largest = 'T,A,1\n'.repeat(ENOUGH).padEnd(MIB - HEADER.length, '\n')
    for (const headers of [{ 'content-length': String(MIB) }, {}]) {
      const good = beginImport(small, { ...headers, 'content-type': 'Text/CSV' })
      good.sending.end(largest)
      assert.equal(((await good.answer) as { data: { added: number } }).data.added, ENOUGH)
    }
  })
})
