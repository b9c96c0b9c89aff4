import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { stopwatch } from '../support/cpu-time.ts'
import type { RawAnswer } from '../support/raw-socket.ts'
import type { Service } from '../support/service.ts'
import { EXP, expiringAt } from '../support/tokens.ts'
import { assertUnavailable } from './load.ts'

/**
 * Every request has to be answered within this time, whatever the database server does; milliseconds. The time in which
 * other programs keep the service from running does not count: `stopwatch`.
 */
export const ANSWER_TIME = 5000

/** When no answer is waited for any longer, in milliseconds. */
const PATIENCE = 6 * ANSWER_TIME

/** What runs again has to be used within this time, without a restart of the service; milliseconds. */
export const RECOVERY_TIME = 2000

const TOKEN = expiringAt(EXP)

/** Without the process, the time that it waits for a processor counts, too. */
type CalledService = Pick<Service, 'url'> & Partial<Pick<Service, 'process'>>

/** A client that accepts no answer that begins later than ANSWER_TIME, or ends later than that after its begin. */
export class Caller {
  /** The longest that it took until an answer began, in milliseconds. */
  slowest = 0
  readonly service: CalledService

  constructor(service: CalledService) {
    this.service = service
  }

  /** @param line such as `GET /books`. @throws if there is no whole answer in time. */
  async call(line: string, body?: object, headers: Record<string, string> = {}): Promise<RawAnswer> {
    const [method = '', path = ''] = line.split(' ')
    const { url, process: { pid } = {} } = this.service
    const begins = stopwatch(pid)
    const response = await fetch(url + path, {
      method,
      headers: { authorization: TOKEN, ...headers },
      signal: AbortSignal.timeout(PATIENCE),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const time = begins()
    this.slowest = Math.max(this.slowest, time)
    assert.ok(time < ANSWER_TIME, `${line} was answered after ${time} ms`)
    const ends = stopwatch(pid)
    const text = await response.text()
    const length = ends()
    assert.ok(length < ANSWER_TIME, `${line} was answered for ${length} ms`)
    return { status: response.status, headers: new Map(response.headers), body: text }
  }

  /** Calls what must succeed. @returns the data. */
  async ok<Data>(line: string, body?: object): Promise<Data> {
    const answer = await this.call(line, body)
    assert.ok(answer.status === 200 || answer.status === 201, `${line}: ${answer.status} ${answer.body}`)
    return (JSON.parse(answer.body) as { data: Data }).data
  }

  /** Calls what must be refused because the store cannot serve it now. */
  async unavailable(line: string, body?: object): Promise<void> {
    assertUnavailable(await this.call(line, body))
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

  /** Lists all books. A list that has begun is cut when it cannot go on. */
  async list(): Promise<'whole' | 'refused' | 'cut'> {
    let answer: RawAnswer
    try {
      answer = await this.call('GET /books')
    } catch (error) {
      if (error instanceof TypeError && error.message === 'terminated') return 'cut'
      throw error
    }
    if (answer.status !== 200) {
      assertUnavailable(answer)
      return 'refused'
    }
    const ids = (JSON.parse(answer.body) as { data: { id: number }[] }).data.map(({ id }) => id)
    assert.deepEqual(
      ids,
      [...new Set(ids)].toSorted((a, b) => a - b),
    )
    return 'whole'
  }

  /** Repeats what is refused until it succeeds, as long as RECOVERY_TIME. @returns after how many milliseconds it did. */
  async recovers(line: string, body?: object): Promise<number> {
    const begin = Date.now()
    for (;;) {
      const answer = await this.call(line, body)
      const time = Date.now() - begin
      if (answer.status < 300) return time
      assertUnavailable(answer)
      assert.ok(time < RECOVERY_TIME, `${line} is still refused after ${time} ms`)
    }
  }
}

/** A failure that the log tells of. */
interface LoggedFailure {
  readonly msg: string
  readonly err?: { readonly reason?: string; readonly message: string; readonly stack?: string }
}

interface LogLine extends LoggedFailure {
  /** How many requests failed that have no line of their own, by cause. */
  readonly causes?: Readonly<Record<string, number>>
  /** How many requests failed in an outage, in the line of its end. */
  readonly total?: number
}

/** How long the log may take to tell of a failure, in milliseconds. */
const LOG_TIME = 15_000

/** All warnings and failures that the log tells of: those with lines of their own, and those that it counts. */
export function failuresIn(service: Service): LoggedFailure[] {
  return service
    .output()
    .split('\n')
    .filter((line) => /"level":[456]0.*\}$/.test(line))
    .map((line): LogLine => JSON.parse(line))
    .flatMap((line) => (line.causes === undefined && line.total === undefined ? [line] : countedIn(line)))
}

const countedIn = ({ msg, causes = {} }: LogLine): LoggedFailure[] =>
  Object.entries(causes).flatMap(([message, count]) => Array(count).fill({ msg, err: { message } }))

/** As failuresIn, once it tells of so many with such a cause. */
export async function failuresOnce(service: Service, count: number, cause: RegExp): Promise<LoggedFailure[]> {
  const deadline = Date.now() + LOG_TIME
  for (;;) {
    const failures = failuresIn(service).filter(({ err }) => cause.test(err?.message ?? ''))
    if (failures.length >= count) return failures
    assert.ok(Date.now() < deadline, `the log tells of ${failures.length} failures: ${service.output()}`)
    await setTimeout(50)
  }
}
