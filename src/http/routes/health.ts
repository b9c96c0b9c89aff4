import type { FastifyInstance } from 'fastify'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { envelope, failure, NoData, success } from '../envelope.ts'
import type { Services } from '../services.ts'
import { describeEndpoint } from './endpoint-schema.ts'

const COMMON = { tag: 'Health', data: NoData, readsOnly: true } as const

/**
 * Endpoints for supervisors. They are public and reveal nothing else. They are served even under overload, because a
 * restart would not help against it.
 */
export function registerHealth(app: FastifyInstance, { books }: Pick<Services, 'books'>): void {
  /** Simultaneous requests share one check of the store, because anybody can send them without a token. */
  let asking: Promise<void> | undefined
  const askStore = async () => {
    try {
      await books.opened()
      await books.store.ready()
    } finally {
      asking = undefined
    }
  }
  const alive = describeEndpoint({
    ...COMMON,
    id: 'isAlive',
    summary: 'Check that the process is alive',
    description: 'The store is not asked. Restart the process if there is no response.',
    success: success.alive,
    failures: [],
  })
  const ready = describeEndpoint({
    ...COMMON,
    id: 'isReady',
    summary: 'Check that the service can serve requests',
    description: 'Asks the store. Send requests elsewhere while the response is 503.',
    success: success.ready,
    failures: [failure.unavailable],
  })
  const config = { alwaysServed: true }

  app.get('/healthz', { schema: alive, config }, async () => envelope(success.alive, null))

  app.get('/readyz', { schema: ready, config }, async () => {
    // While the service stops, requests still arrive on open connections.
    if (!app.server.listening) throw failure.unavailable
    try {
      asking ??= askStore()
      await asking
    } catch (error) {
      // 503 whatever the cause, such as a damaged file: requests are better sent elsewhere.
      throw new StoreUnavailable('the store is not ready', { cause: error })
    }
    return envelope(success.ready, null)
  })
}
