import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { assertFailure, type RawResponse } from '../support/raw-socket.ts'
import { EXP, expiringAt } from '../support/tokens.ts'
import { until } from '../support/until.ts'

/**
 * `STORE_TIMEOUT` of a service whose refusals are tested, in seconds: more than a machine stands still, so that what
 * must succeed is not refused.
 */
export const SOON = '8'

/** A request that is not answered within this time hangs; milliseconds. It is far longer than SOON. */
const ANSWER_TIME = 60_000

const TOKEN = expiringAt(EXP)

/** A client whose requests must not hang. */
export class Caller {
  readonly #url: string

  constructor({ url }: { readonly url: string }) {
    this.#url = url
  }

  /** @param line such as `GET /books`. @throws if there is no whole response in time. */
  async call(line: string, body?: object, headers: Record<string, string> = {}): Promise<RawResponse> {
    const [method = '', path = ''] = line.split(' ')
    const response = await fetch(this.#url + path, {
      method,
      headers: { authorization: TOKEN, ...headers },
      signal: AbortSignal.timeout(ANSWER_TIME),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: new Map(response.headers), body: await response.text() }
  }

  /** @returns undefined if the connection ended before there was a whole response. */
  async callUnlessCut(line: string, body?: object): Promise<RawResponse | undefined> {
    try {
      return await this.call(line, body)
    } catch (error) {
      // So fetch says that the connection has ended.
      if (error instanceof TypeError) return undefined
      throw error
    }
  }

  /** Calls what must succeed. @returns the data. */
  async ok<Data>(line: string, body?: object): Promise<Data> {
    const response = await this.call(line, body)
    assert.ok(
      response.status === 200 || response.status === 201,
      `${line}: ${response.status} ${response.body}`,
    )
    return (JSON.parse(response.body) as { data: Data }).data
  }

  /** Calls what must be refused because the store cannot serve it now. */
  async unavailable(line: string, body?: object): Promise<RawResponse> {
    const response = await this.call(line, body)
    assertUnavailable(response)
    return response
  }

  /** Creates a book. @returns its id. */
  async create(title = 'T'): Promise<number> {
    return (await this.ok<{ id: number }>('POST /book', { title, author: 'A', year: 1 })).id
  }

  /**
   * Waits until the index has followed the last write, which it begins 200 ms after. Reads come between, so that a
   * service or a server that other programs hold up has its time all the same.
   */
  async untilIndexed(): Promise<void> {
    for (let i = 0; i < 20; i++) {
      await setTimeout(50)
      await this.call('GET /book/1')
    }
  }

  /** Repeats what is refused until it succeeds. @returns the data. */
  async recovers<Data>(line: string, body?: object): Promise<Data> {
    const { body: text } = await until(`${line} is not refused`, async () => {
      const response = await this.call(line, body)
      if (response.status < 300) return response
      assertUnavailable(response)
      return false
    })
    return (JSON.parse(text) as { data: Data }).data
  }
}

/** Checks that it is the response that the service gives when its store cannot be used now. */
export function assertUnavailable(response: RawResponse): void {
  assertFailure(response, 503, 'Service unavailable')
  assert.equal(response.headers.get('retry-after'), '1')
}
