import { parseDbUrl } from '../../src/store/db-url.ts'
import type { ServerEngine } from '../support/database-server.ts'

/** Why the service cannot be given several hosts, or false if it can. */
export function hostsMissing(engine: ServerEngine): string | false {
  try {
    parseDbUrl(`${engine}://user:password@a:1,b:2/database`)
    return false
  } catch {
    return 'the service takes one host only'
  }
}
