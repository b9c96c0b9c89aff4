import assert from 'node:assert/strict'
import { it } from 'node:test'
import { negotiate } from '../../src/http/content-negotiation.ts'

const OFFERED = ['application/json', 'text/csv', 'application/x-ndjson'] as const

const CHOICES: readonly [string | undefined, (typeof OFFERED)[number]][] = [
  [undefined, 'application/json'],
  ['', 'application/json'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
  ['image/png', 'application/json'],
  ['text/csv', 'text/csv'],
  ['TEXT/CSV', 'text/csv'],
  ['text/*', 'text/csv'],
  ['text/csv;header=present', 'text/csv'],
  ['application/x-ndjson', 'application/x-ndjson'],
  ['application/json, text/csv', 'application/json'],
  ['text/csv;q=0.5, application/x-ndjson;q=0.6', 'application/x-ndjson'],
  ['text/csv, */*;q=0.1', 'text/csv'],
  ['text/csv;q=0, text/*', 'application/json'],
  ['application/json;q=0, */*', 'text/csv'],
  ['text/csv;q=0', 'application/json'],
  ['text/csv;q=2', 'application/json'],
  ['text/csv;q=', 'application/json'],
  ['text/csv; charset=utf-8; q=0.9, application/json; q=0.8', 'text/csv'],
  [',, text/csv ,', 'text/csv'],
  [';;;', 'application/json'],
]

for (const [accept, chosen] of CHOICES)
  it(`the media type for ${JSON.stringify(accept)} is ${chosen} (RFC 9110 §12.5.1)`, () =>
    assert.equal(negotiate(accept, OFFERED), chosen))
