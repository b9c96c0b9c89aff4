import { it } from 'node:test'
import { onEachServer } from './engine-servers.ts'
import { surviveOutage } from './outage.ts'

onEachServer('a database server that is restarted under load', (server) => {
  for (const how of ['clean', 'immediate', 'kill'] as const) {
    it(`${how}: answers in time, loses nothing, does nothing twice, and works again at once`, (t) =>
      surviveOutage(t, server(), {
        begin: () => server().stop(how),
        duration: 500,
        isPartial: true,
        end: () => server().start(),
      }))
  }
})
