import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Store, StoreUnavailable } from '../catalogue/store.ts'
import { decorateStore } from '../catalogue/store-decorator.ts'
import { describeError } from '../errors.ts'

/**
 * How often the failures of an outage are summed up, in milliseconds. The outage is over when nothing has failed between
 * two such moments, and the store has been used since.
 */
const INTERVAL = 10_000

/** How many causes of an outage are told apart. */
const MAX_CAUSES = 10

const OTHER_CAUSES = 'other causes'

/** A time in which the store could not serve requests. */
interface Outage {
  readonly begin: number
  /** All requests that failed. */
  failed: number
  /** The causes that have a line of their own, by what is the same in each of their messages. */
  readonly causes: Map<string, string>
  /** How many requests failed since the last line without one of their own, by cause. */
  readonly repeats: Map<string, number>
  /** Whether nothing has failed since the last sum. */
  isCalm: boolean
  /** When a use of the store succeeded for the first time after the last failure. */
  recovery: number | undefined
  readonly timer: NodeJS.Timeout
}

/** Logs requests that failed on our side. While the store is unavailable, a line stands for many of them. */
export class FailureLog {
  readonly #app: FastifyInstance
  #outage: Outage | undefined

  constructor(app: FastifyInstance) {
    this.#app = app
    app.addHook('onClose', async () => this.#end())
  }

  /** @returns the same store, whose successes end an outage. */
  watch(store: Store): Store {
    return decorateStore((_, call) => {
      const result = call(store)
      if (this.#outage !== undefined) result.then(() => this.#recover()).catch(() => {})
      return result
    }, store)
  }

  /** @param message of the line if the error is unexpected. */
  add(error: unknown, request: FastifyRequest, message: string): void {
    const line = { method: request.method, route: request.routeOptions.url, err: error }
    if (!(error instanceof StoreUnavailable)) request.log.error(line, message)
    else if (this.#isNew(describeError(error)))
      request.log.error(line, 'a request failed because the store is unavailable')
  }

  /** Counts a failure of the store. @returns whether it has to be logged. */
  #isNew(cause: string): boolean {
    this.#outage ??= {
      begin: Date.now(),
      failed: 0,
      causes: new Map(),
      repeats: new Map(),
      isCalm: false,
      recovery: undefined,
      timer: setInterval(() => this.#sumUp(), INTERVAL).unref(),
    }
    const { causes, repeats } = this.#outage
    this.#outage.failed++
    this.#outage.isCalm = false
    this.#outage.recovery = undefined
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

  #recover(): void {
    if (this.#outage !== undefined) this.#outage.recovery ??= Date.now()
  }

  #sumUp(): void {
    const outage = this.#outage
    if (outage === undefined) return
    if (outage.repeats.size > 0) {
      this.#app.log.error(sumOf(outage.repeats), 'more requests failed because the store is unavailable')
      outage.repeats.clear()
    } else if (outage.isCalm && outage.recovery !== undefined) this.#end()
    outage.isCalm = true
  }

  /** Ends an outage, or the log in the middle of one. */
  #end(): void {
    if (this.#outage === undefined) return
    const { begin, failed, repeats, recovery, timer } = this.#outage
    clearInterval(timer)
    this.#outage = undefined
    const seconds = Math.round(((recovery ?? Date.now()) - begin) / 100) / 10
    const line = { ...(repeats.size > 0 && sumOf(repeats)), total: failed, seconds }
    if (recovery !== undefined) this.#app.log.info(line, 'the store is available again')
    else this.#app.log.error(line, 'the service ends while the store is unavailable')
  }
}

function sumOf(repeats: ReadonlyMap<string, number>) {
  const failed = repeats.values().reduce((sum, count) => sum + count, 0)
  return { failed, causes: Object.fromEntries(repeats) }
}
