import assert from 'node:assert/strict'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import type { Envelope } from '../../src/http/envelope.ts'
import { engineMissing } from '../support/engines.ts'
import { startedAsNpm } from '../support/started-as-npm.ts'
import { type ServiceInUse, useService } from '../support/use-service.ts'
import { useDatabase, withstand } from './polite-client.ts'

const MIB = 1024 * 1024
const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'
const JSON_ARRAY = 'application/json'

const BOUNDS = { read: 1000, health: 1000 }
/** Of an import that is not slower than linear. */
const LINEAR = { ...BOUNDS, attack: 20_000 }

/** Sends a file that is not in memory. @returns the response, which may come before all of it is sent. */
function send(
  { url, token }: ServiceInUse,
  type: string,
  file: Iterable<string>,
  query = '',
): Promise<Envelope<unknown>> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: token, 'content-type': type }
    const sending = request(`${url}/books/import${query}`, { method: 'POST', headers }, (response) => {
      const received = json(response) as Promise<Envelope<unknown>>
      received.then(resolve, reject).finally(() => sending.destroy())
    })
    sending.on('error', reject)
    Readable.from(file, { objectMode: false, highWaterMark: MIB }).pipe(sending)
  })
}

function* repeated(first: string, unit: string, mib: number, last = ''): Generator<string> {
  yield first
  const chunk = unit.repeat(Math.ceil((64 * 1024) / unit.length))
  for (let sent = 0; sent < mib * MIB; sent += chunk.length) yield chunk
  yield last
}

const HEADER = 'title,author,year\n'
const GOODREADS = 'Title,Author,Additional Authors,Year Published\n'
const NESTED = `{"x":${'['.repeat(MIB / 2 - 100)}${']'.repeat(MIB / 2 - 100)}}\n`

describe('an import of a hostile file', () => {
  const service = useService((started) => started.createBook(), startedAsNpm())

  for (const [what, type, first, unit, mib, message] of [
    ['nothing but commas', CSV, HEADER, ',', 80, /line 2: the row has more than 1000 fields/],
    ['a quote that is never closed', CSV, `${HEADER}"`, '""\n', 80, /line 2: the row is too long/],
    ['rows of separators', CSV, GOODREADS, `T,A,"${'a, '.repeat(0.3 * MIB)}",1\n`, 8, /^Books/],
    ['nested arrays', NDJSON, '', NESTED, 16, /line 1: has more/],
    ['a string that does not end', JSON_ARRAY, '[{"x":"', '\\\\', 80, /line 1: the book is too long/],
    ['nothing but white space', JSON_ARRAY, '[', ' \n', 80, /line 1: the book is too long/],
    ['nested arrays', JSON_ARRAY, '[{}', `,${NESTED}`, 16, /the JSON array is not closed/],
  ] as const) {
    it(`of ${type} with ${what} takes little time and memory, and keeps nobody waiting`, async (t) => {
      const file = repeated(first, unit, mib)
      const response = await withstand(t, service, LINEAR, () => send(service, type, file))
      assert.match(response.message, message)
    })
  }
})

describe('an import of many books that are as long as they may be', () => {
  // Most characters take one byte in the file, and because of the last one two in memory.
  const book = `{"title":"${'a'.repeat(MIB - 100)}€","author":"A","year":1}`
  const ndjson = (mib: number) => repeated('', `${book}\n`, mib)
  const array = (mib: number) => repeated('[', `${book},\n`, mib - 1, `${book}]`)

  for (const [engine, type, file] of [
    ['sqlite', NDJSON, ndjson(255)],
    ['sqlite', JSON_ARRAY, array(255)],
    // Servers are slower, and need less for the memory to tell.
    ['postgres', NDJSON, ndjson(128)],
    ['mysql', NDJSON, ndjson(128)],
  ] as const)
    describe(`${type} on ${engine}`, { skip: engineMissing(engine) }, () => {
      const database = useDatabase(engine)
      const service = useService(
        (started) => started.createBook(),
        async () => ({ ...startedAsNpm(), ...(await database()) }),
      )
      it('keeps nobody waiting, and needs little memory', async (t) => {
        const response = await withstand(t, service, BOUNDS, () => send(service, type, file, '?dry_run=true'))
        assert.equal(response.status, 200, response.message)
      })
    })
})

describe('an import of books that are there already, each many times', () => {
  const service = useService((started) => started.createBook())

  it('takes little time, and keeps nobody waiting', async (t) => {
    const many = 41_000
    const rows = 'T,A,1\n'.repeat(many)
    assert.equal((await send(service, CSV, [HEADER, rows], '?skip_existing=false')).status, 200)
    const file = [HEADER, 'U,A,1\n', rows]
    const { data } = await withstand(t, service, LINEAR, () => send(service, CSV, file))
    assert.partialDeepStrictEqual(data, { added: 1, skipped: many })
  })
})
