import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { SignJWT } from 'jose'
import { Auth } from '../../src/auth/auth.ts'
import { type Store, StoreUnavailable } from '../../src/catalogue/store.ts'
import { newFile, openFile } from '../store/sqlite/file.ts'
import { logIn } from '../support/client.ts'
import { BOOKS, damageMiddle, fill } from '../support/damage.ts'
import { ACCOUNT, SECRET, type Service, startService } from '../support/service.ts'
import { createTestServer } from '../support/test-server.ts'

const BOOK = '{"title":"T","author":"A","year":1}'

const file = newFile()
let service: Service
let token: string

/** Starts the service on the file. */
async function start(): Promise<void> {
  service = await startService(file.directory, { DB_URL: `sqlite:${file.path}` })
  token = await logIn(service.url)
}

async function call(method: string, path: string, body?: string) {
  const headers = { authorization: token }
  const response = await fetch(service.url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const failure = (status: number, message: string) => JSON.stringify({ status, message, data: null })

interface LogLine {
  readonly msg: string
  readonly method?: string
  readonly route?: string
  readonly err?: { readonly reason?: string; readonly message: string; readonly stack?: string }
  readonly causes?: Readonly<Record<string, number>>
}

/** The lines of the log that tell of failures. */
const logged = (): LogLine[] =>
  service
    .output()
    .split('\n')
    .filter((line) => /"level":[456]0.*\}$/.test(line))
    .map((line) => JSON.parse(line))

/** The cause of the nth failure; the log may come later than the response. */
async function cause(n: number): Promise<LogLine['err']> {
  const deadline = Date.now() + 30_000
  while (logged().length < n) {
    assert.ok(Date.now() < deadline, `failure ${n} is not in the log: ${service.output()}`)
    await setTimeout(10)
  }
  return logged()[n - 1]?.err
}

describe('while another process holds the write lock', () => {
  let other: DatabaseSync
  before(async () => {
    await start()
    assert.equal((await call('POST', '/book', BOOK)).status, 201)
    other = new DatabaseSync(file.path, { timeout: 60_000 })
    other.exec('BEGIN IMMEDIATE')
  })
  after(async () => {
    other.close()
    await service.stop()
  })

  for (const [method, path, body] of [
    ['POST', '/book', BOOK],
    ['PUT', '/book/1', '{"year":2}'],
    ['DELETE', '/book/1', undefined],
  ] as const) {
    it(`${method} ${path} is 503 with Retry-After, and reads work`, async () => {
      const response = await call(method, path, body)
      assert.equal(response.text, failure(503, 'Service unavailable'))
      assert.equal(response.status, 503)
      assert.match(response.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/)
      assert.equal(response.headers.get('x-stored'), 'no')
      const read = await call('GET', '/book/1')
      assert.deepEqual(JSON.parse(read.text).data, { id: 1, ...JSON.parse(BOOK) })
      assert.equal(JSON.parse((await call('GET', '/books')).text).data.length, 1)
    })
  }

  it('what needs no write is answered as ever: 404, 400, 401', async () => {
    assert.equal((await call('PUT', '/book/999', '{"year":"x"}')).text, failure(404, 'Book not found'))
    assert.equal((await call('PUT', '/book/1', '{"year":"x"}')).text, failure(400, 'Invalid input'))
    assert.equal((await call('DELETE', '/book/abc')).text, failure(404, 'Book not found'))
    assert.equal((await call('POST', '/token', '{}')).text, failure(401, 'Invalid credentials'))
  })

  it('and when it is released, writes work again', async () => {
    other.exec('ROLLBACK')
    assert.equal((await call('POST', '/book', BOOK)).status, 201)
    assert.equal((await call('PUT', '/book/1', '{"year":2}')).status, 200)
    assert.equal((await call('DELETE', '/book/1')).status, 200)
    assert.equal((await call('GET', '/book/1')).text, failure(404, 'Book not found'))
  })

  it('the log has the cause once, and how many requests failed for it', async () => {
    const message = 'database is locked'
    await cause(1)
    await service.stop()
    const lines = service
      .output()
      .split('\n')
      .filter((line) => line.includes('unavailable'))
    const [first, ...others] = lines.map((line): LogLine => JSON.parse(line))
    assert.deepEqual([first?.method, first?.route], ['POST', '/book'])
    assert.deepEqual(first?.err, { type: 'StoreUnavailable', reason: 'conflict', message })
    const counted = others.reduce((sum, { causes }) => sum + (causes?.[message] ?? 0), 0)
    assert.equal(counted, 2)
  })
})

describe('when the database file is damaged in the middle', () => {
  let ids: number[]
  let lost: number
  let failures = 0
  before(async () => {
    const store = await openFile(file.path)
    ids = await fill(store)
    lost = ids[Math.floor(BOOKS * 0.6)] ?? 0
    await store.close()
    damageMiddle(file.path)
    await start()
  })
  after(async () => {
    await service.stop()
    file[Symbol.dispose]()
  })

  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', '{"year":2}'],
    ['DELETE', undefined],
  ] as const) {
    it(`${method} of a lost book is 500, its cause in the log and not shown to the client`, async () => {
      const response = await call(method, `/book/${lost}`, body)
      assert.equal(response.text, failure(500, 'Internal server error'))
      assert.equal(response.status, 500)
      assert.doesNotMatch(JSON.stringify([...response.headers]), /malformed|sqlite/i)
      const error = await cause(++failures)
      assert.match(error?.message ?? '', /malformed/)
      assert.match(error?.stack ?? '', /\/store\/sqlite\/[\w-]+\.ts/)
    })
  }

  for (const coding of ['identity', 'gzip'])
    it(`the list is cut, so that its half cannot be taken for the whole, its cause in the log (${coding})`, async () => {
      const headers = { authorization: token, 'accept-encoding': coding }
      const response = await fetch(`${service.url}/books`, { headers })
      assert.equal(response.status, 200)
      let text = ''
      await assert.rejects(async () => {
        for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk
      }, TypeError)
      // The compressor may still have had all that there was.
      if (coding === 'identity')
        assert.match(text, /^\{"status":200,"message":"Books retrieved successfully","data":\[\{"id":/)
      assert.throws(() => JSON.parse(text))
      assert.match((await cause(++failures))?.message ?? '', /malformed/)
    })

  it('the other books are served', async () => {
    const read = await call('GET', `/book/${ids[0]}`)
    assert.equal(JSON.parse(read.text).data.id, ids[0])
  })

  it('each cause is in the log once', async () => {
    await service.stop()
    assert.equal(logged().length, failures)
  })
})

describe('when a token cannot be signed', () => {
  /** Has a key that HS256 refuses. */
  class RsaAuth extends Auth {
    readonly #rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

    override issue(): Promise<string> {
      return new SignJWT({ exp: 1 }).setProtectedHeader({ alg: 'HS256' }).sign(this.#rsa)
    }
  }

  it('POST /token is 500 Could not generate token (§4, §7)', async () => {
    using other = newFile()
    const store = await openFile(other.path)
    const app = await createTestServer(store, new RsaAuth(ACCOUNT, SECRET))
    const response = await app.inject({ method: 'POST', url: '/token', payload: ACCOUNT })
    assert.equal(response.payload, failure(500, 'Could not generate token'))
    assert.equal(response.statusCode, 500)
    const refused = await app.inject({
      method: 'POST',
      url: '/token',
      payload: { ...ACCOUNT, password: 'x' },
    })
    assert.equal(refused.payload, failure(401, 'Invalid credentials'))
    await app.close()
    await store.close()
  })
})

describe('while the store is unavailable', () => {
  /** Sends a request to a server with a store that fails in some way. @returns the fields of its 503. */
  async function ask(failing: Partial<Store>, method: 'GET' | 'HEAD' | 'PUT', url: string) {
    using other = newFile()
    const store = await openFile(other.path)
    const app = await createTestServer({ ...store, ...failing })
    const headers = { authorization: await new Auth(ACCOUNT, SECRET).issue() }
    const body = method === 'PUT' ? { payload: BOOK } : {}
    const response = await app.inject({ method, url, headers, ...body })
    await app.close()
    await store.close()
    assert.equal(response.statusCode, 503)
    assert.equal(response.headers['x-total-count'], undefined)
    assert.match(String(response.headers['x-request-id']), /^[\w-]{36}$/)
    return { retryAfter: response.headers['retry-after'], stored: response.headers['x-stored'] }
  }
  const away = (nothingWritten: boolean) => () =>
    Promise.reject(new StoreUnavailable('the store is away', { nothingWritten }))

  for (const method of ['GET', 'HEAD'] as const)
    for (const path of ['/books', '/books?sort=title', '/books?limit=1&count=true'])
      it(`${method} ${path} is 503 with Retry-After`, async () =>
        assert.deepEqual(await ask({ page: away(true), count: async () => 1 }, method, path), {
          retryAfter: '1',
          stored: undefined,
        }))

  for (const [nothingWritten, stored] of [
    [true, 'no'],
    [false, 'unknown'],
  ] as const)
    it(`X-Stored of a write is ${stored} if ${nothingWritten ? 'nothing was' : 'something may be'} written`, async () =>
      assert.deepEqual(await ask({ update: away(nothingWritten) }, 'PUT', '/book/1'), {
        retryAfter: '1',
        stored,
      }))
})
