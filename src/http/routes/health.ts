import type { FastifyInstance } from 'fastify'
import { type Store, StoreUnavailable } from '../../catalogue/store.ts'
import { envelope, failure, success } from '../envelope.ts'

/**
 * Tells a supervisor whether the process is alive, and whether it can serve. Both endpoints are public and say nothing
 * else. They are served even under overload, because a restart would not help against it.
 */
export function registerHealth(app: FastifyInstance, { store }: { readonly store: Store }): void {
  /** The question that all share who ask at the same time, because anybody may ask without a token. */
  let asking: Promise<unknown> | undefined
  const storeIsReady = () => {
    asking ??= store.ready().finally(() => {
      asking = undefined
    })
    return asking
  }
  // The OpenAPI document does not describe these.
  const route = { schema: { hide: true }, config: { alwaysServed: true } }

  app.get('/healthz', route, async () => envelope(success.alive, null))

  app.get('/readyz', route, async () => {
    // While the service stops, requests still come on open connections.
    if (!app.server.listening) throw failure.unavailable
    try {
      await storeIsReady()
    } catch (error) {
      // Whatever the reason is, such as a damaged file, requests are better sent elsewhere.
      throw new StoreUnavailable('the store is not ready', { cause: error })
    }
    return envelope(success.ready, null)
  })
}
