import type { FastifyInstance } from 'fastify'
import { Auth } from '../../src/auth/auth.ts'
import { LoginThrottle } from '../../src/auth/login-throttle.ts'
import { Cursors } from '../../src/http/page-cursor.ts'
import { createServer, type ServerSettings } from '../../src/http/server.ts'
import { ImportTurn, type OpeningStore } from '../../src/http/services.ts'
import { createLogger } from '../../src/observability/logging.ts'
import { ACCOUNT, SECRET } from './service.ts'

export interface TestServerOptions extends Partial<ServerSettings> {
  readonly auth?: Auth
  readonly importLimit?: number
  readonly loginFailureLimit?: number
  /** Gets each line of the log. */
  readonly log?: (line: string) => void
}

/** Makes a server in the process of a test, which by default logs nothing. */
export function createTestServer(
  books: OpeningStore,
  {
    auth = new Auth(ACCOUNT, SECRET),
    importLimit = 1e6,
    loginFailureLimit = 0,
    log = () => {},
    ...settings
  }: TestServerOptions = {},
): FastifyInstance {
  const { logLevel = 'silent' } = settings
  return createServer(
    {
      books,
      auth,
      loginLimit: new LoginThrottle(loginFailureLimit),
      cursors: new Cursors(SECRET),
      importTurns: new ImportTurn(),
      importLimit,
    },
    { trustProxy: false, corsOrigins: [], threads: 1, ...settings, logLevel },
    createLogger(logLevel, { write: log }),
  )
}
