import assert from 'node:assert/strict'
import { it } from 'node:test'
import { negotiate } from '../../src/http/content-negotiation.ts'

const OFFERED = ['application/json', 'text/csv', 'application/x-ndjson'] as const

// What the service does with them: test/spec/decisions-files.test.ts.
for (const [accept, chosen] of [
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
  ['TEXT/*', 'text/csv'],
  ['text/csv;q=0.5, application/x-ndjson;q=0.6', 'application/x-ndjson'],
  ['application/json;q=0.9, text/csv;q=1.0', 'text/csv'],
  ['text/csv;Q=0, text/*', 'application/json'],
  ['application/json;q=0, */*', 'text/csv'],
  ['text/csv;q=2', 'application/json'],
  ['text/csv;q=', 'application/json'],
  ['text/csv; charset=utf-8; q=0.9, application/json; q=0.8', 'text/csv'],
] as const)
  it(`the media type for ${accept} is ${chosen} (RFC 9110 §12.5.1)`, () =>
    assert.equal(negotiate(accept, OFFERED), chosen))
