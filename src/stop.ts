import type { FastifyInstance } from 'fastify'

/** How long requests in flight may take to finish after a signal to stop, in milliseconds. */
const GRACE = 5000

/** How often connections that have become idle are closed while stopping, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50

/**
 * On SIGTERM or SIGINT stops accepting, finishes what is in flight, releases everything else and lets the process
 * end with code 0. A second signal ends it at once.
 * @param release what requests need until their end.
 */
export function stopOnSignal(app: FastifyInstance, release: () => Promise<void>): void {
  const stop = async (signal: NodeJS.Signals) => {
    process.removeAllListeners('SIGTERM').removeAllListeners('SIGINT')
    app.log.info({ signal }, 'stopping')
    const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_INTERVAL)
    const cut = setTimeout(() => app.server.closeAllConnections(), GRACE)
    await app.close()
    clearInterval(idle)
    clearTimeout(cut)
    await release()
    app.log.info('stopped')
  }
  process.once('SIGTERM', stop).once('SIGINT', stop)
}
