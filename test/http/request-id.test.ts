import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { requestId } from '../../src/http/gate.ts'

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

const given = (id: string) => requestId({ headers: { 'x-request-id': id } })

describe('the id of a request', () => {
  for (const id of [
    'a',
    '0af7651916cd43dd8448eb211c80319c',
    'A-Z_a.z:0/9+=@',
    '018f7a3e-0000-7000-8000-000000000000',
    'x'.repeat(128),
  ]) {
    it(`is the one that came with it: ${id}`, () => assert.equal(given(id), id))
  }

  for (const id of [
    '',
    ' ',
    'a b',
    'x'.repeat(129),
    'a\r\nX: y',
    'a\n',
    'a\x1b[2J',
    'a\x9b',
    'é',
    'a, b',
    '"',
    '{}',
    '<b>',
    "a'b",
    'a;b',
  ]) {
    it(`is a new one instead of ${JSON.stringify(id)}`, () => assert.match(given(id), UUID))
  }

  it('is another one for each request that comes without', () => {
    const ids = Array.from({ length: 1000 }, () => requestId({ headers: {} }))
    for (const id of ids) assert.match(id, UUID)
    assert.equal(new Set(ids).size, ids.length)
  })
})
