import { envelope, type Failure, FailureEnvelope, failure, type StatusLine } from '../envelope.ts'
import { Component } from '../openapi.ts'
import { type HeaderName, headers } from './answer-headers.ts'

const HEADERS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After', 'X-Stored'],
}

/**
 * Describes failures of an endpoint, by their statuses. Endpoints that fail in the same way share the description.
 * @param reason for example, what follows the message of the first failure.
 * @param readsOnly whether the endpoint stores nothing. Its 503 then has no X-Stored.
 */
export function failureResponses(
  failures: readonly Failure[],
  reason: string | undefined,
  readsOnly: boolean,
): Record<string, Component> {
  const responses: Record<string, Component> = {}
  for (const [status, some] of Map.groupBy(failures, (each) => each.status)) {
    const examples = some.map((each) => {
      const message = each === failures[0] && reason ? `${each.message}: ${reason}` : each.message
      return [nameOf(each), { value: envelope({ status, message }, null) }]
    })
    const fields = (HEADERS[status] ?? []).filter((name) => name !== 'X-Stored' || !readsOnly)
    const suffix = fields.includes('X-Stored') ? '-with-X-Stored' : ''
    responses[status] = new Component('responses', `${some.map(nameOf).join('-or-')}${suffix}`, {
      description: messagesOf(some),
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

export function messagesOf(answers: readonly StatusLine[]): string {
  return answers.map(({ message }) => message).join(', or ')
}

/** The name of the failure in the table, such as `bookNotFound`. */
function nameOf(each: Failure): string {
  return Object.entries(failure).find(([, known]) => known === each)?.[0] ?? ''
}
