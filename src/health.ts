import type { FastifyInstance } from 'fastify'
import { envelope, failure, success } from './envelope.ts'
import type { Store } from './store/store.ts'

/**
 * Whether the process is alive, and whether it can serve: for those who supervise it. Public, and they say nothing
 * else. Not refused for overload, for a restart would not help against it.
 */
export function registerHealth(app: FastifyInstance, { store }: { readonly store: Store }): void {
  let stopping = false
  app.addHook('preClose', (done) => {
    stopping = true
    done()
  })
  /** One question for all who ask at the same time: anybody may, without a token. */
  let asking: Promise<unknown> | undefined
  const storeAnswers = () => {
    asking ??= store.find(1).finally(() => {
      asking = undefined
    })
    return asking
  }
  // Not part of the API that the OpenAPI document describes.
  const route = { schema: { hide: true }, config: { pressureHandler: () => {} } }

  app.get('/healthz', route, async () => envelope(success.alive, null))

  app.get('/readyz', route, async () => {
    if (stopping) throw failure.unavailable
    await storeAnswers()
    return envelope(success.ready, null)
  })
}
