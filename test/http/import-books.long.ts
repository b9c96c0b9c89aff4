import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { assertFailure, head, RawConnection } from '../support/raw-socket.ts'
import { useService } from '../support/use-service.ts'
import { beginImport } from './begin-import.ts'

/** A client that sends so much in this time sends enough; in milliseconds. It is longer than other requests may take. */
const LONG = 34_000

/** Rows of 6 bytes: 1 KiB for each second until the next are sent. */
const ENOUGH = 3000

describe('POST /books/import of a slow client', { concurrency: true }, () => {
  const slow = useService()
  const dripped = useService()

  it('takes as long as its client takes, and keeps a second one waiting', async () => {
    const { sending, answer } = beginImport(slow)
    await setTimeout(500)
    const second = beginImport(slow)
    assert.deepEqual(await second.answer, { status: 503, message: 'Service unavailable', data: null })
    second.sending.destroy()
    for (let sent = 0; sent < 2; sent++) {
      await setTimeout(LONG / 2)
      sending.write('T,A,1\n'.repeat(ENOUGH))
    }
    sending.end()
    const { data } = (await answer) as { data: { added: number } }
    assert.equal(data.added, 2 * ENOUGH)
  })

  it('answers a client that sends next to nothing with 408, and closes its connection; then others can import', async () => {
    using connection = await RawConnection.open(dripped.url)
    const fields = [`Authorization: ${dripped.token}`, 'Content-Type: text/csv', 'Content-Length: 1000']
    await connection.send(`${head('POST /books/import', ...fields)}title,author,year\n`)
    const drip = setInterval(() => connection.send(','), 1000)
    const answer = await connection.answer()
    assertFailure(answer, 408, 'Request timeout')
    assert.equal(answer.headers.get('connection'), 'close')
    assert.equal(await connection.rest(), '')
    clearInterval(drip)
    const good = beginImport(dripped)
    good.sending.end('T,A,1\n')
    assert.equal(((await good.answer) as { data: { added: number } }).data.added, 1)
    assert.doesNotMatch(dripped.output(), /"level":[456]0/)
  })
})
