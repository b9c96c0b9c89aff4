import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { StoreUnavailable } from '../catalogue/store.ts'
import { describeError } from '../errors.ts'

/**
 * How often the failures of an outage are summarised in the log, in milliseconds. The outage is over when no request
 * has failed for one such interval and the store is ready.
 */
const INTERVAL = 10_000

/** The maximum number of causes that are told apart in an outage. The others are counted together. */
const MAX_CAUSES = 10

/** A period in which the store could not serve requests. Times are in milliseconds since the epoch. */
interface Outage {
  readonly begin: number
  /** When the last request failed. */
  end: number
  /** The number of failed requests, now and at the last summary. */
  failed: number
  summedUp: number
  /** The causes that have been logged, by their messages with every number replaced by 0. */
  readonly causes: Map<string, string>
  /** How many failures, by cause, have not been logged since the last summary. */
  readonly repeats: Map<string, number>
  readonly timer: NodeJS.Timeout
}

/** Logs requests that failed on the side of the service. While the store is unavailable, one line stands for many. */
export class FailureLog {
  readonly #log: FastifyBaseLogger
  readonly #checkReady: () => Promise<void>
  #outage: Outage | undefined

  /** @param checkReady rejects while the store is unavailable. */
  constructor(log: FastifyBaseLogger, checkReady: () => Promise<void>) {
    this.#log = log
    this.#checkReady = checkReady
  }

  /** @param message for the log line of an unexpected error. */
  add(error: unknown, request: FastifyRequest, message: string): void {
    const line = { method: request.method, route: request.routeOptions.url, err: error }
    if (!(error instanceof StoreUnavailable)) request.log.error(line, message)
    else if (this.#isNew(describeError(error)))
      request.log.error(line, 'a request failed because the store is unavailable')
  }

  /** Logs the failures that have not been logged yet. */
  close(): void {
    if (this.#outage === undefined) return
    clearInterval(this.#outage.timer)
    this.#logRepeats(this.#outage)
    this.#outage = undefined
  }

  /** Counts a failure of the store. @returns whether its cause is new and has to be logged. */
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
    // Messages of the same cause differ in their numbers, such as ports and times.
    const key = cause.replaceAll(/\d+/g, '0')
    const known = causes.get(key)
    if (known === undefined && causes.size < MAX_CAUSES) {
      causes.set(key, cause)
      return true
    }
    const counted = known ?? 'other causes'
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
    if (!isCalm) return
    const isReady = await this.#checkReady().then(
      () => true,
      () => false,
    )
    // A request may have failed while the store was checked.
    if (!isReady || this.#outage !== outage || outage.failed > failed) return
    this.close()
    const seconds = Math.round((end - begin) / 100) / 10
    this.#log.info({ total: failed, seconds }, 'the store is available again')
  }

  #logRepeats({ repeats }: Outage): void {
    if (repeats.size === 0) return
    const failed = repeats.values().reduce((sum, count) => sum + count, 0)
    const line = { failed, causes: Object.fromEntries(repeats) }
    this.#log.error(line, 'more requests failed because the store is unavailable')
    repeats.clear()
  }
}
