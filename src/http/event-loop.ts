import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'

/** The event loop is late if its mean delay is larger than this twice in a row; in milliseconds. */
const MAX_DELAY = 500

/** How often the mean delay is read, in milliseconds. */
const INTERVAL = 500

/** The resolution of the measurement, in milliseconds. */
const RESOLUTION = 10

/**
 * Measures whether the event loop keeps up. While it does not, requests are refused: all would be answered too late.
 * @returns a state that is kept up to date.
 */
export function watchEventLoop(app: FastifyInstance): { readonly isLate: boolean } {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION })
  const state = { isLate: false }
  let timer: NodeJS.Timeout | undefined
  app.server.once('listening', () => {
    delays.enable()
    let wasLate = false
    timer = setInterval(() => {
      // One late sample is not overload: the start, a large garbage collection or another program can take that long.
      const isLateNow = meanDelay() > MAX_DELAY
      state.isLate = wasLate && isLateNow
      wasLate = isLateNow
      delays.reset()
    }, INTERVAL).unref()
  })
  // Without any measurement, the event loop has been blocked for the whole interval.
  const meanDelay = () => (delays.count === 0 ? Number.POSITIVE_INFINITY : delays.mean / 1e6 - RESOLUTION)
  app.addHook('onClose', async () => {
    clearInterval(timer)
    delays.disable()
  })
  return state
}
