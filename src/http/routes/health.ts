import type { FastifyInstance } from 'fastify'
import { type Store, StoreUnavailable } from '../../catalogue/store.ts'
import { envelope, failure, success } from '../envelope.ts'

/**
 * Whether the process is alive, and whether it can serve: for those who supervise it. Public, and they say nothing
 * else. Not refused for overload, for a restart would not help against it.
 */
export function registerHealth(app: FastifyInstance, { store }: { readonly store: Store }): void {
  /** One question for all who ask at the same time: anybody may, without a token. */
  let asking: Promise<unknown> | undefined
  const storeAnswers = () => {
    asking ??= store.find(1).finally(() => {
      asking = undefined
    })
    return asking
  }
  // Not part of the API that the OpenAPI document describes.
  const route = { schema: { hide: true }, config: { alwaysServed: true } }

  app.get('/healthz', route, async () => envelope(success.alive, null))

  app.get('/readyz', route, async () => {
    // While the service stops, requests still come on connections that are open.
    if (!app.server.listening) throw failure.unavailable
    try {
      await storeAnswers()
    } catch (error) {
      // Whatever it is, such as a damaged file, requests are better sent elsewhere.
      throw new StoreUnavailable('the store does not answer', { cause: error })
    }
    return envelope(success.ready, null)
  })
}
