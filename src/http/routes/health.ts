import type { FastifyInstance } from 'fastify'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { envelope, type Failure, failure, NoData, type StatusLine, success } from '../envelope.ts'
import type { Services } from '../services.ts'
import { describeEndpoint } from './endpoint-schema.ts'

/**
 * Tells a supervisor whether the process is alive, and whether it can serve. Both endpoints are public and say nothing
 * else. They are served even under overload, because a restart would not help against it.
 */
export function registerHealth(app: FastifyInstance, { books }: Pick<Services, 'books'>): void {
  /** The question that all share who ask at the same time, because anybody may ask without a token. */
  let asking: Promise<unknown> | undefined
  const askStore = async () => {
    await books.opened()
    await books.store.ready()
  }
  const storeIsReady = () => {
    asking ??= askStore().finally(() => {
      asking = undefined
    })
    return asking
  }
  const route = (id: string, summary: string, success: StatusLine, ...failures: Failure[]) => ({
    schema: describeEndpoint({
      id,
      summary,
      tag: 'Health',
      success,
      data: NoData,
      readsOnly: true,
      failures,
    }),
    config: { alwaysServed: true },
  })
  const alive = route('isAlive', 'Check that the process is alive', success.alive)
  const ready = route(
    'isReady',
    'Check that the service can serve requests',
    success.ready,
    failure.unavailable,
  )

  app.get('/healthz', alive, async () => envelope(success.alive, null))

  app.get('/readyz', ready, async () => {
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
