import type { Page } from 'playwright-core'
import { PATIENCE } from './elements.ts'

/** How long it takes from now on until a timer fires that was made longer, in milliseconds. */
export const KEPT = 4 * PATIENCE

/** What makes time pass, or responses wait, on a page. */
export function timing(page: Page) {
  /** Makes the timers longer that this page will set for this time, in milliseconds. After `page.clock.install`, if both. */
  const makeLonger = (time: number): Promise<void> =>
    page.evaluate(`{
      const begin = setTimeout
      globalThis.setTimeout = (run, time, ...rest) => begin(run, time === ${time} ? ${KEPT} : time, ...rest)
    }`)

  /**
   * Holds the response to the next request with this method whose URL matches until it is released.
   * @param act brings the request about. The response is held then, otherwise it will be.
   */
  async function hold(method: string, pattern: RegExp, act?: () => Promise<unknown>) {
    const answered = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    let isFirst = true
    await page.route(pattern, async (route) => {
      if (!isFirst || route.request().method() !== method) return route.fallback()
      isFirst = false
      const response = await route.fetch()
      answered.resolve()
      await released.promise
      // The page may have given it up.
      await route.fulfill({ response }).catch(() => {})
      ended.resolve()
    })
    if (act !== undefined) {
      await act()
      await answered.promise
    }
    return {
      /** Once the service has answered. */
      answered: answered.promise,
      async release(): Promise<void> {
        released.resolve()
        await ended.promise
        // What the page does with one response it has done before it gets the next.
        await page.evaluate(`fetch('/healthz').then((response) => response.text())`)
      },
    }
  }

  /**
   * Answers requests whose URL matches with an error, in the place of the service.
   * @param times how many; the others reach the service.
   * @param when the first of them may be answered.
   */
  async function refuse(
    pattern: string | RegExp,
    status: number,
    times = Number.POSITIVE_INFINITY,
    when = Promise.resolve(),
  ): Promise<void> {
    let left = times
    await page.route(pattern, async (route) => {
      if (left-- <= 0) return route.fallback()
      await when
      await route.fulfill({ status, json: { status, message: 'Refused by the test', data: null } })
    })
  }

  return {
    ...{ makeLonger, hold, refuse },
    /** Keeps the notices that this page will show, because a busy machine may not get to their buttons in six seconds. */
    keepNotices: () => makeLonger(6000),
    /** Gives the test the clock of the page. Notices stay until it lets `KEPT` pass at once, with `page.clock`. */
    async takeClock(): Promise<void> {
      await page.clock.install()
      await makeLonger(6000)
    },
    /**
     * From now on the timers that this page sets run only when the test lets time pass, with `page.clock.runFor`: also
     * those of axe-core, so `assertAccessible` would never end.
     */
    async stopClock(): Promise<void> {
      await page.clock.install()
      // Not in the past, however long this takes.
      await page.clock.pauseAt(Date.now() + 60_000)
    },
  }
}
