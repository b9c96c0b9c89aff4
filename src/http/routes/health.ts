import type { FastifyInstance } from 'fastify'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { envelope, type Failure, failure, NoData, type StatusLine, success } from '../envelope.ts'
import type { Services } from '../services.ts'
import { describeEndpoint } from './endpoint-schema.ts'

/**
 * Endpoints for supervisors. They are public and reveal nothing else. They are served even under overload, because a
 * restart would not help against it.
 */
export function registerHealth(app: FastifyInstance, { books }: Pick<Services, 'books'>): void {
  /** Simultaneous requests share one check of the store, because anybody can send them without a token. */
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
  const route = (
    id: string,
    summary: string,
    description: string,
    success: StatusLine,
    ...failures: Failure[]
  ) => ({
    schema: describeEndpoint({
      id,
      summary,
      description,
      tag: 'Health',
      success,
      data: NoData,
      readsOnly: true,
      failures,
    }),
    config: { alwaysServed: true },
  })
  const alive = route(
    'isAlive',
    'Check that the process is alive',
    'The store is not asked. Restart the process if there is no response.',
    success.alive,
  )
  const ready = route(
    'isReady',
    'Check that the service can serve requests',
    'Asks the store. Send requests elsewhere while the response is 503.',
    success.ready,
    failure.unavailable,
  )

  app.get('/healthz', alive, async () => envelope(success.alive, null))

  app.get('/readyz', ready, async () => {
    // While the service stops, requests still arrive on open connections.
    if (!app.server.listening) throw failure.unavailable
    try {
      await storeIsReady()
    } catch (error) {
      // 503 whatever the cause, such as a damaged file: requests are better sent elsewhere.
      throw new StoreUnavailable('the store is not ready', { cause: error })
    }
    return envelope(success.ready, null)
  })
}
