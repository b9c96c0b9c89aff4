import assert from 'node:assert/strict'
import { ACCOUNT, HOST, SECRET } from './account.ts'
import { type Book, seededBook } from './books.ts'
import type { Contender } from './contenders.ts'
import { signToken } from './token.ts'

interface Answer {
  readonly status: number
  readonly message: string
  readonly data: unknown
}

interface Options {
  readonly method?: string
  readonly body?: object
  /** Undefined for one that is good. */
  readonly token?: string
}

/** Asks an endpoint, and checks the answer; any data will do if none is given. It tells the data. */
type Expect = (
  path: string,
  options: Options,
  status: number,
  message: string,
  data?: unknown,
) => Promise<unknown>

const LOGIN = { method: 'POST', token: '' }

const NEW = { title: 'Kindred', author: 'Octavia E. Butler', year: 1979 }

/**
 * Asks a contender everything that is measured, and checks statuses and bodies, so that none is fast because it is
 * wrong. It leaves the books as they were, but may use an id.
 * @param books how many it has.
 * @throws AssertionError that says what it answered.
 */
export async function checkAnswers({ does }: Contender, port: number, books: number): Promise<void> {
  const good = signToken(SECRET, Math.floor(Date.now() / 1000) + 600)
  const ask = async (path: string, { method = 'GET', body, token = good }: Options = {}): Promise<Answer> => {
    const response = await fetch(`http://${HOST}:${port}${path}`, {
      method,
      headers: {
        ...(token !== '' && { authorization: token }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as Answer
    assert.equal(answer.status, response.status, `${method} ${path}: the envelope has another status`)
    return answer
  }
  const expect: Expect = async (path, options, status, message, data) => {
    const answer = await ask(path, options)
    const wanted = { status, message, data: data === undefined ? answer.data : data }
    assert.deepEqual(answer, wanted, `${options.method ?? 'GET'} ${path}`)
    return answer.data
  }

  const list = (await expect('/books', {}, 200, 'Books retrieved successfully')) as Book[]
  assert.equal(list.length, books)
  assert.deepEqual([list[0], list.at(-1)], [seededBook(1), seededBook(books)])
  if (does === 'nothing') return
  for (const id of [1, books]) {
    await expect(`/book/${id}`, {}, 200, 'Book retrieved successfully', seededBook(id))
  }
  await expect(`/book/${10 * books}`, {}, 404, 'Book not found', null)
  if (does === 'reads without token') return

  const checksTokens = does !== 'everything but tokens and validation'
  const token = checksTokens ? await checkTokens(expect) : ''
  const body = { body: NEW, token }
  const created = (await expect(
    '/book',
    { method: 'POST', ...body },
    201,
    'Book created successfully',
  )) as Book
  assert.deepEqual(created, { id: created.id, ...NEW })
  const path = `/book/${created.id}`
  const changed = { ...created, year: 1980 }
  const change = { method: 'PUT', body: { year: 1980 } }
  await expect(path, change, 200, 'Book updated successfully', changed)
  await expect(path, {}, 200, 'Book retrieved successfully', changed)
  await expect(path, { method: 'DELETE' }, 200, 'Book deleted successfully', null)
  await expect(path, {}, 404, 'Book not found', null)
  await expect(path, { method: 'DELETE' }, 404, 'Book not found', null)
  await expect(path, change, 404, 'Book not found', null)
  if (!checksTokens || does === 'everything but validation') return

  const invalid = { body: { ...NEW, year: 'a year' } }
  await expect('/book', { method: 'POST', ...invalid }, 400, 'Invalid input', null)
  await expect('/book/1', { method: 'PUT', ...invalid }, 400, 'Invalid input', null)
  const unreadable = { body: { ...ACCOUNT, username: {} } }
  await expect('/token', { ...LOGIN, ...unreadable }, 400, 'Invalid request payload', null)
}

/** Logs in, and checks which tokens are accepted. It tells one that is. */
async function checkTokens(expect: Expect): Promise<string> {
  const data = await expect('/token', { ...LOGIN, body: ACCOUNT }, 200, 'Token generated successfully')
  const { token } = data as { token: string }
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as object
  assert.deepEqual(Object.keys(claims), ['exp'], 'claims of the token')
  const wrong = { ...ACCOUNT, password: 'wrong' }
  await expect('/token', { ...LOGIN, body: wrong }, 401, 'Invalid credentials', null)
  await expect('/book/1', { token: '' }, 401, 'Authorization token required', null)
  const forged = signToken(`not ${SECRET}`, Math.floor(Date.now() / 1000) + 600)
  await expect('/book/1', { token: forged }, 401, 'Invalid token', null)
  const expired = signToken(SECRET, Math.floor(Date.now() / 1000) - 10)
  await expect('/book/1', { token: expired }, 401, 'Invalid token', null)
  return token
}

/** Creates a book, and tells its id. */
export async function createOne(port: number): Promise<number> {
  const authorization = signToken(SECRET, Math.floor(Date.now() / 1000) + 600)
  const response = await fetch(`http://${HOST}:${port}/book`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(NEW),
  })
  assert.equal(response.status, 201)
  const { data } = (await response.json()) as { data: Book }
  return data.id
}
