import { envelope, type Failure, FailureEnvelope, failure, type StatusLine } from '../envelope.ts'
import { Component } from '../openapi.ts'
import { type HeaderName, headers } from './response-headers.ts'

/** Example reasons for the failures whose messages end with one. */
const REASONS = new Map<Failure, string>([
  [failure.importRefused, 'the file is empty; it needs a first line with the column names'],
  [failure.invalidQueryParameter, 'limit must be an integer from 1 to 1000'],
])

const HEADERS: Readonly<Record<number, readonly HeaderName[]>> = {
  400: ['X-Invalid-Input'],
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After', 'X-Stored'],
}

/** Describes failures by status. Endpoints that fail alike share a component. With `readsOnly`, 503 has no X-Stored. */
export function failureResponses(
  failures: readonly Failure[],
  readsOnly: boolean,
): Record<string, Component> {
  const responses: Record<string, Component> = {}
  for (const [status, group] of Map.groupBy(failures, (each) => each.status)) {
    const examples = group.map((each) => {
      const reason = REASONS.get(each)
      return [nameOf(each), { value: envelope(reason === undefined ? each : each.because(reason), null) }]
    })
    const isOfBody = group.includes(failure.invalidInput) || group.includes(failure.invalidPayload)
    const fields = (HEADERS[status] ?? []).filter(
      (name) => (name !== 'X-Stored' || !readsOnly) && (name !== 'X-Invalid-Input' || isOfBody),
    )
    const suffix = fields.includes('X-Stored') ? '-with-X-Stored' : ''
    responses[status] = new Component('responses', `${group.map(nameOf).join('-or-')}${suffix}`, {
      description: messagesOf(group),
      headers: headers(...fields),
      content: {
        'application/json': {
          schema: new Component('schemas', 'Failure', FailureEnvelope),
          examples: Object.fromEntries(examples),
        },
      },
    })
  }
  return responses
}

export function messagesOf(responses: readonly StatusLine[]): string {
  return responses.map(({ message }) => message).join(', or ')
}

/** Such as `bookNotFound`. */
function nameOf(each: Failure): string {
  return Object.entries(failure).find(([, known]) => known === each)?.[0] ?? ''
}
