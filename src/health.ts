import type { FastifyInstance } from 'fastify'
import { describeEndpoint, NoData } from './api-schema.ts'
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
  const config = { pressureHandler: () => {} }

  app.get('/healthz', {
    schema: describeEndpoint({
      id: 'alive',
      summary: 'Whether the process is alive',
      tag: 'Health',
      public: true,
      success: success.alive,
      data: NoData,
      failures: [],
    }),
    config,
    handler: async () => envelope(success.alive, null),
  })

  app.get('/readyz', {
    schema: describeEndpoint({
      id: 'ready',
      summary: 'Whether the service can serve: its store answers, and it is neither starting nor stopping',
      tag: 'Health',
      public: true,
      success: success.ready,
      data: NoData,
      failures: [],
    }),
    config,
    handler: async () => {
      if (stopping) throw failure.unavailable
      await storeAnswers()
      return envelope(success.ready, null)
    },
  })
}
