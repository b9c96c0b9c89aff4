import { it } from 'node:test'
import { onEachServer } from './engine-servers.ts'
import { surviveOutage } from './outage.ts'

/** Longer than any deadline of the service. */
const DURATION = 1000 * Number(process.env.FREEZE_SECONDS ?? 8)

onEachServer(
  'a database server that stands still under load',
  (server) => {
    it('every request is answered in time, nothing is lost or done twice, and all works again at once', (t) =>
      surviveOutage(t, server(), {
        begin: () => server().freeze(),
        duration: DURATION,
        end: () => server().thaw(),
      }))
  },
  { concurrency: true },
)
