import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'

/** When the mean delay of the event loop is larger twice in a row, it is late; milliseconds. */
const MAX_DELAY = 500

/** How often the mean delay is taken, in milliseconds. */
const INTERVAL = 500

/** How finely the delay is measured, in milliseconds. */
const RESOLUTION = 10

/**
 * Watches whether the process keeps up. While it does not, requests are better refused: all would be answered too late.
 * @returns the state, which changes.
 */
export function watchEventLoop(app: FastifyInstance): { readonly isLate: boolean } {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION })
  const state = { isLate: false }
  let timer: NodeJS.Timeout | undefined
  app.server.once('listening', () => {
    delays.enable()
    let wasLate = false
    timer = setInterval(() => {
      // One late sample is no overload: the start, a large garbage collection or another program can take that long.
      const isLateNow = meanDelay() > MAX_DELAY
      state.isLate = wasLate && isLateNow
      wasLate = isLateNow
      delays.reset()
    }, INTERVAL).unref()
  })
  // If there is no measurement, the event loop has not turned at all.
  const meanDelay = () => (delays.count === 0 ? Number.POSITIVE_INFINITY : delays.mean / 1e6 - RESOLUTION)
  app.addHook('onClose', async () => {
    clearInterval(timer)
    delays.disable()
  })
  return state
}
