import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'
import { failure } from './envelope.ts'

/** When the mean delay of the event loop is larger twice in a row, requests are refused; milliseconds. */
const MAX_DELAY = 500

/** How often the mean delay is taken, in milliseconds. */
const INTERVAL = 500

/** How finely the delay is measured, in milliseconds. */
const RESOLUTION = 10

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is served even while the event loop is late. */
    alwaysServed?: boolean
  }
}

/** Refuses requests while the process cannot keep up. Otherwise it would answer all of them too late. */
export function refuseOverload(app: FastifyInstance): void {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION })
  let isLate = false
  let timer: NodeJS.Timeout | undefined
  app.server.once('listening', () => {
    delays.enable()
    let wasLate = false
    timer = setInterval(() => {
      // One late sample is no overload: the start, a large garbage collection or another program can take that long.
      const isLateNow = meanDelay() > MAX_DELAY
      isLate = wasLate && isLateNow
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
  app.addHook('onRequest', (request, _reply, done) => {
    if (isLate && !request.routeOptions.config.alwaysServed) done(failure.unavailable)
    else done()
  })
}
