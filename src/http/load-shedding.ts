import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'
import { failure } from './envelope.ts'

/** Mean delay of the event loop that is too much, how often it is taken, and how finely it is measured; milliseconds. */
const [DELAY, INTERVAL, RESOLUTION] = [500, 500, 10]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is served however late the event loop is. */
    alwaysServed?: boolean
  }
}

/** Turns requests away while the process cannot keep up, rather than answering all of them too late. */
export function refuseOverload(app: FastifyInstance): void {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION })
  let isLate = false
  let timer: NodeJS.Timeout | undefined
  app.server.once('listening', () => {
    delays.enable()
    let isFirst = true
    timer = setInterval(() => {
      // What starting took, as opening a database file, is no overload, and is in the first sample.
      isLate = !isFirst && meanDelay() > DELAY
      isFirst = false
      delays.reset()
    }, INTERVAL).unref()
  })
  // Without a single measurement the event loop has not turned at all.
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
