/** What other programs import: docs/embedding.md. */

import { readConfig } from './config.ts'
import { prepareService } from './service/prepare.ts'
import type { Settings } from './settings.ts'

export { ConfigError, OperatorError } from './errors.ts'
export type { SettingName, Settings } from './settings.ts'

/** The service as a part of another program. */
export interface CatalogueService {
  /** Where it answers. @throws Error before it has started. */
  readonly url: string
  /** May be called once. @throws OperatorError if it cannot listen, or cannot open its store. */
  start(): Promise<void>
  /**
   * Accepts no more connections, answers the requests in flight for up to 5 seconds, and closes the store. While the
   * service starts, this waits for the end of that.
   */
  stop(): Promise<void>
}

/**
 * Makes a service that does not listen yet. Its settings are these alone, not those of the environment.
 * @throws ConfigError that lists every fault at once.
 */
export function createService(settings: Settings = {}): CatalogueService {
  const texts = Object.entries(settings).map(([name, value]) => [name, value?.toString()])
  const config = readConfig(Object.fromEntries(texts))
  let prepared: ReturnType<typeof prepareService> | undefined
  let starting: Promise<string> | undefined
  let url: string | undefined
  return {
    get url() {
      if (url === undefined) throw new Error('the service has not started')
      return url
    },
    async start() {
      if (prepared !== undefined) throw new Error('the service was started before; create another one')
      prepared = prepareService(config)
      starting = prepared.then(({ start }) => start())
      url = await starting
    },
    async stop() {
      // Whoever has started it is told why it could not.
      await starting?.catch(() => {})
      await (await prepared?.catch(() => undefined))?.stop()
    },
  }
}
