import { type ClientRequest, request } from 'node:http'
import { json } from 'node:stream/consumers'
import type { ServiceInUse } from '../support/use-service.ts'

export const HEADER = 'title,author,year\n'

/** Begins the import of a file of CSV, of which only the header is sent. */
export function beginImport(
  service: ServiceInUse,
  headers: Record<string, string> = {},
): { sending: ClientRequest; answer: Promise<unknown> } {
  const answer = Promise.withResolvers<unknown>()
  const options = {
    method: 'POST',
    headers: { authorization: service.token, 'content-type': 'text/csv', ...headers },
  }
  const sending = request(`${service.url}/books/import`, options, (response) => {
    json(response).then(answer.resolve, answer.reject)
  })
  sending.on('error', answer.reject)
  sending.write(HEADER)
  return { sending, answer: answer.promise }
}
