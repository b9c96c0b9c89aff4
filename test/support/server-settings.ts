import type { ServerSettings } from '../../src/http/server.ts'

/** What a server in the process of a test obeys. */
export const SETTINGS: ServerSettings = { logLevel: 'silent', trustProxy: false, corsOrigins: [] }
