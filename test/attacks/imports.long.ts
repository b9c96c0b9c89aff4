import assert from 'node:assert/strict'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { logIn } from '../support/client.ts'
import { processTime } from '../support/cpu-time.ts'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { bePolite } from '../support/polite-client.ts'
import { startService, temporaryDirectory } from '../support/service.ts'
import { startedAsNpm } from '../support/started-as-npm.ts'
import { useService } from '../support/use-service.ts'
import { withstand } from '../support/withstand.ts'

const MIB = 1024 * 1024
const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'
const JSON_ARRAY = 'application/json'

/** The most processor time that the service takes before a response to the polite client, in milliseconds. */
const WAIT = 1000

/** An import that takes longer, and one that is refused for longer, is too slow; milliseconds. */
const LONG = 60_000

interface ImportResponse {
  readonly status: number
  readonly message: string
}

/** Sends a file that is not in memory. @returns the response, which may come before all of it is sent. */
function send(
  url: string,
  token: string,
  type: string,
  file: Iterable<string>,
  query = '',
): Promise<ImportResponse> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: token, 'content-type': type }
    const sending = request(`${url}/books/import${query}`, { method: 'POST', headers }, (response) => {
      const received = text(response).then((body) => {
        const { status, message } = JSON.parse(body)
        return { status, message }
      })
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

describe('an import of a hostile file', () => {
  const service = useService((started) => started.createBook(), startedAsNpm())

  for (const [what, type, file, mib, message] of [
    ['no line break', CSV, [HEADER, 'x'], 40, /line 2: the row is too long/],
    ['no line break at all', CSV, ['', 'x'], 40, /line 1: the row is too long/],
    ['nothing but commas', CSV, [HEADER, ','], 40, /line 2: the row has more than 1000 fields/],
    ['a quote that is never closed', CSV, [`${HEADER}"`, '""\n'], 40, /line 2: the row is too long/],
    ['rows of many commas', CSV, [HEADER, `${','.repeat(990)}x\n`], 8, /line 2: the number of fields is 991/],
    [
      'long rows of quotes',
      CSV,
      [HEADER, `"${'""'.repeat(0.99 * MIB)}",A,1\n`],
      8,
      /line 2: title: .* is too long/,
    ],
    [
      'rows of separators',
      CSV,
      ['Title,Author,Year Published\n', `T,"${'a, '.repeat(0.3 * MIB)}",1\n`],
      4,
      /^Books/,
    ],
    ['no line break', NDJSON, ['', 'x'], 40, /line 1 is too long/],
    [
      'nested arrays',
      NDJSON,
      ['', `{"x":${'['.repeat(MIB / 2 - 100)}${']'.repeat(MIB / 2 - 100)}}\n`],
      8,
      /line 1: has more/,
    ],
    ['many objects', NDJSON, ['', `{"x":[${'{},'.repeat(MIB / 3 - 100)}1]}\n`], 8, /line 1: has more/],
    ['no JSON', NDJSON, ['', '{x}\n'], 40, /line 1: "\{x\}" is not JSON/],
    ['no JSON', JSON_ARRAY, ['[{x}', ',{x}'], 40, /line 1: "\{x\}" is not JSON \(item 1\)/],
    ['an object that does not end', JSON_ARRAY, ['[', '{"x":'], 40, /line 1: the book is too long/],
    ['a string that does not end', JSON_ARRAY, ['[{"x":"', '\\\\'], 40, /line 1: the book is too long/],
    ['nothing but white space', JSON_ARRAY, ['[', ' \n'], 40, /line 1: the book is too long/],
    ['nothing but commas', JSON_ARRAY, ['[', ', '], 40, /line 1: the book is too long/],
    [
      'nested arrays',
      JSON_ARRAY,
      ['[{}', `,{"x":${'['.repeat(MIB / 2 - 100)}${']'.repeat(MIB / 2 - 100)}}\n`],
      8,
      /the JSON array is not closed/,
    ],
  ] as const) {
    it(`of ${type} with ${what} is read in linear time, keeps nobody waiting, and needs little memory`, async (t) => {
      /** @returns the processor time that it took, in milliseconds. */
      const importFile = async (size: number) => {
        const before = processTime(service.pid)
        const response = await send(service.url, service.token, type, repeated(file[0], file[1], size))
        assert.match(response.message, message)
        return processTime(service.pid) - before
      }
      const [once, twice] = await withstand(t, service, ['read', 'health'], WAIT, async () => [
        await importFile(mib),
        await importFile(2 * mib),
      ])
      assert.ok(twice < 3 * once + 500, `${once} ms, of twice the size ${twice} ms`)
    })
  }
})

describe('an import of many books that are as long as they may be', () => {
  // Most characters take one byte in the file, and because of the last one two in memory.
  const book = `{"title":"${'a'.repeat(MIB - 100)}€","author":"A","year":1}`

  for (const engine of ENGINES) {
    describe(engine, { skip: engineMissing(engine) }, () => {
      // Servers are slower, and need less for the memory to tell.
      const mib = engine === 'sqlite' ? 255 : 128
      const databases = engine === 'sqlite' ? undefined : useDatabases(engine)
      const service = useService(
        (started) => started.createBook(),
        async () => ({
          ...startedAsNpm(),
          ...(databases && { DB_URL: await (await databases()).createDatabase() }),
        }),
      )

      const ways = [
        [NDJSON, ''] as const,
        [NDJSON, '&skip_existing=false'] as const,
        [JSON_ARRAY, ''] as const,
      ]
      for (const [type, query] of ways.slice(0, engine === 'sqlite' ? 3 : 1)) {
        it(`keeps nobody waiting, and needs little memory: ${type}, ?dry_run=true${query}`, async (t) => {
          const file =
            type === NDJSON
              ? repeated('', `${book}\n`, mib)
              : repeated('[', `${book},\n`, mib - 1, `${book}]`)
          const response = await withstand(t, service, ['read', 'health'], WAIT, () =>
            send(service.url, service.token, type, file, `?dry_run=true${query}`),
          )
          assert.equal(response.status, 200, response.message)
        })
      }
    })
  }
})

describe('an import of books that are there already, each many times', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const many = 41_000
  const file = `${HEADER}${'T,A,1\n'.repeat(many)}`

  it('takes little time, keeps nobody waiting, and can be left or stopped', async () => {
    const service = await startService(directory.path)
    try {
      const token = await logIn(service.url)
      const headers = { authorization: token }
      await fetch(`${service.url}/book`, {
        method: 'POST',
        headers,
        body: '{"title":"T","author":"A","year":1}',
      })
      const all = '?skip_existing=false'
      assert.equal((await send(service.url, token, CSV, [file], all)).status, 200)

      const end = new AbortController()
      const client = bePolite(service.url, token, end.signal, service.process.pid)
      const body = `${HEADER}U,A,1\n${file.slice(HEADER.length)}`
      const response = await fetch(`${service.url}/books/import`, {
        method: 'POST',
        headers: { ...headers, 'content-type': CSV },
        body,
        signal: AbortSignal.timeout(LONG),
      })
      const { data } = (await response.json()) as { data: { added: number; skipped: number } }
      assert.deepEqual([data.added, data.skipped], [1, many])
      end.abort()
      const report = await client
      assert.ok(
        Math.max(report.p99('read'), report.p99('write'), report.p99('health')) < WAIT,
        String(report),
      )

      // A client goes away, and another one can import.
      const leave = await sendAll(service.url, token, file)
      leave()
      const deadline = Date.now() + LONG
      let status = 503
      while (status === 503 && Date.now() < deadline) {
        status = (await send(service.url, token, CSV, [`${HEADER}V,A,1\n`])).status
        await setTimeout(50)
      }
      assert.equal(status, 200)

      const leaveToo = await sendAll(service.url, token, file)
      const { code } = await service.stop()
      assert.equal(code, 0)
      leaveToo()
    } finally {
      await service.stop('SIGKILL')
    }
  })
})

/** Sends a file with a pause that lets the service read all of it. @returns what ends the connection. */
async function sendAll(url: string, token: string, file: string): Promise<() => void> {
  const headers = { authorization: token, 'content-type': CSV, 'content-length': file.length }
  const sending = request(`${url}/books/import`, { method: 'POST', headers })
  sending.on('error', () => {})
  await new Promise<void>((resolve) => sending.end(file, resolve))
  await setTimeout(500)
  return () => sending.destroy()
}
