import { Component } from '../openapi.ts'

/** The response header fields, as the OpenAPI document describes them. */
const HEADERS = {
  ETag: { description: 'The strong entity tag of the book (RFC 9110 §8.8.3).', schema: { type: 'string' } },
  Link: {
    description: 'Leads to the next page with `rel="next"`, if there is one (RFC 8288).',
    schema: { type: 'string' },
  },
  Location: {
    description: 'The address of the new book, relative to that of the request (RFC 9110 §10.2.2).',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'Seconds after which the request may be sent again.',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': { description: 'The challenge (RFC 9110 §11.6.1).', schema: { type: 'string' } },
  'X-Invalid-Input': {
    description: 'Why the body was refused, such as `year is missing`.',
    schema: { type: 'string' },
  },
  'X-Request-Id': {
    description: 'The id that the request carried, or a new one.',
    schema: { type: 'string' },
  },
  'X-Search-Index': {
    description:
      'Sent only while many books are being indexed. Books that were written lately may be missing from the response, or not in their place yet.',
    schema: { type: 'string', enum: ['incomplete'] },
  },
  'X-Stored': {
    description: 'Whether the request may have stored something.',
    schema: { type: 'string', enum: ['no', 'unknown'] },
  },
  'X-Total-Count': {
    description: 'The number of books on all pages, if `count` asks for it.',
    schema: { type: 'integer', minimum: 0 },
  },
} as const

export type HeaderName = keyof typeof HEADERS

/** @returns the named fields and those of every response, for a Response Object of OpenAPI. */
export function headers(...names: readonly HeaderName[]): Record<string, Component> {
  const all = [...names, 'X-Request-Id'] as const
  return Object.fromEntries(all.map((name) => [name, new Component('headers', name, HEADERS[name])]))
}

/** Tells the client that the search index, and therefore the response, may lack the latest writes. */
export function announceIncomplete(reply: { header(name: string, value: string): unknown }): void {
  reply.header('x-search-index', 'incomplete')
}
