import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { StoreUnavailable } from '../catalogue/store.ts'
import { describeError } from '../errors.ts'

/**
 * How often the failures of an outage are summed up, in milliseconds. The outage is over when nothing has failed between
 * two such moments, and the store is ready.
 */
const INTERVAL = 10_000

/** How many causes of an outage are told apart. */
const MAX_CAUSES = 10

const OTHER_CAUSES = 'other causes'

/** A time in which the store could not serve requests. */
interface Outage {
  readonly begin: number
  /** When a request failed last. */
  end: number
  /** All requests that failed, and how many of them when they were last summed up. */
  failed: number
  summedUp: number
  /** The causes that have a line of their own, by what is the same in each of their messages. */
  readonly causes: Map<string, string>
  /** How many requests failed since the last line without one of their own, by cause. */
  readonly repeats: Map<string, number>
  readonly timer: NodeJS.Timeout
}

/** Logs requests that failed on our side. While the store is unavailable, a line stands for many of them. */
export class FailureLog {
  readonly #log: FastifyBaseLogger
  readonly #checkReady: () => Promise<void>
  #outage: Outage | undefined

  /** @param checkReady rejects while the store is unavailable. */
  constructor(log: FastifyBaseLogger, checkReady: () => Promise<void>) {
    this.#log = log
    this.#checkReady = checkReady
  }

  /** @param message of the line if the error is unexpected. */
  add(error: unknown, request: FastifyRequest, message: string): void {
    const line = { method: request.method, route: request.routeOptions.url, err: error }
    if (!(error instanceof StoreUnavailable)) request.log.error(line, message)
    else if (this.#isNew(describeError(error)))
      request.log.error(line, 'a request failed because the store is unavailable')
  }

  /** Logs what has no line yet. */
  close(): void {
    if (this.#outage === undefined) return
    clearInterval(this.#outage.timer)
    this.#logRepeats(this.#outage)
    this.#outage = undefined
  }

  /** Counts a failure of the store. @returns whether it has to be logged. */
  #isNew(cause: string): boolean {
    this.#outage ??= {
      begin: Date.now(),
      end: 0,
      failed: 0,
      summedUp: 0,
      causes: new Map(),
      repeats: new Map(),
      timer: setInterval(() => this.#sumUp(), INTERVAL).unref(),
    }
    const { causes, repeats } = this.#outage
    this.#outage.failed++
    this.#outage.end = Date.now()
    // Numbers differ each time, such as ports and times.
    const key = cause.replaceAll(/\d+/g, '0')
    const known = causes.get(key)
    if (known === undefined && causes.size < MAX_CAUSES) {
      causes.set(key, cause)
      return true
    }
    const counted = known ?? OTHER_CAUSES
    repeats.set(counted, (repeats.get(counted) ?? 0) + 1)
    return false
  }

  async #sumUp(): Promise<void> {
    const outage = this.#outage
    if (outage === undefined) return
    const { begin, end, failed } = outage
    const isCalm = failed === outage.summedUp
    outage.summedUp = failed
    this.#logRepeats(outage)
    if (!isCalm || !(await this.#isOver())) return
    // Meanwhile, a request may have failed.
    if (this.#outage !== outage || outage.failed > failed) return
    this.close()
    const seconds = Math.round((end - begin) / 100) / 10
    this.#log.info({ total: failed, seconds }, 'the store is available again')
  }

  async #isOver(): Promise<boolean> {
    return await this.#checkReady().then(
      () => true,
      () => false,
    )
  }

  #logRepeats({ repeats }: Outage): void {
    if (repeats.size === 0) return
    const failed = repeats.values().reduce((sum, count) => sum + count, 0)
    const line = { failed, causes: Object.fromEntries(repeats) }
    this.#log.error(line, 'more requests failed because the store is unavailable')
    repeats.clear()
  }
}
