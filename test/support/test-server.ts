import type { FastifyInstance } from 'fastify'
import { Auth } from '../../src/auth/auth.ts'
import { LoginThrottle } from '../../src/auth/login-throttle.ts'
import type { Store } from '../../src/catalogue/store.ts'
import { Cursors } from '../../src/http/page-cursor.ts'
import { createServer } from '../../src/http/server.ts'
import { ImportTurn, type OpeningStore } from '../../src/http/services.ts'
import { createLogger } from '../../src/observability/logging.ts'
import { ACCOUNT, SECRET } from './service.ts'

/** Makes a server in the process of a test, which logs nothing. @param threads of which it is one. */
export function createTestServer(store: Store, auth?: Auth, threads?: number): FastifyInstance {
  return createServerOf({ store, opened: () => undefined }, auth, threads)
}

/** As createTestServer, with a store that need not be open. */
export function createServerOf(
  books: OpeningStore,
  auth = new Auth(ACCOUNT, SECRET),
  threads = 1,
): FastifyInstance {
  return createServer(
    {
      books,
      auth,
      loginLimit: new LoginThrottle(0),
      cursors: new Cursors(SECRET),
      importTurns: new ImportTurn(),
      importLimit: 1e6,
    },
    { logLevel: 'silent', trustProxy: false, corsOrigins: [], threads },
    createLogger('silent', { write: () => {} }),
  )
}
