/** The API for other programs, which docs/embedding.md describes. */

import { readConfig } from './config.ts'
import { prepareService } from './service/prepare.ts'
import type { Settings } from './settings.ts'

export { ConfigError, OperatorError } from './errors.ts'
export type { SettingName, Settings } from './settings.ts'

/** The service in the process of another program. */
export interface CatalogueService {
  /** The base URL. @throws Error before the service has started. */
  readonly url: string
  /** May be called once. @throws OperatorError if the service cannot listen or cannot open its store. */
  start(): Promise<void>
  /**
   * Accepts no more connections, finishes the requests in flight for up to 5 seconds, and closes the store. If
   * `start()` is still running, waits for it first.
   */
  stop(): Promise<void>
}

/**
 * Creates a service that does not listen yet. Settings in the environment have no effect.
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
      // The caller of start() gets the error.
      await starting?.catch(() => {})
      await (await prepared?.catch(() => undefined))?.stop()
    },
  }
}
