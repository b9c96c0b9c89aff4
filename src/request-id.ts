import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** What an id from outside may be, so that it can go into a header and a line of the log as it is. */
const ACCEPTABLE = /^[\w.:/+=@-]{1,128}$/

/** The id that a client or a proxy gave a request in X-Request-Id, or else a new one. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && ACCEPTABLE.test(given) ? given : randomUUID()
}
