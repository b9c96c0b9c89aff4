import assert from 'node:assert/strict'
import { it } from 'node:test'
import { describeError } from '../src/errors.ts'

it('an error is described in one line, with its cause unless it names that itself', () => {
  const cause = new Error('the disk\n  is full')
  for (const [error, description] of [
    [new Error('no backup', { cause }), 'no backup: the disk is full'],
    [new Error('the disk is full, they say', { cause }), 'the disk is full, they say'],
    [new TypeError(), 'TypeError'],
    ['a text\nof lines', 'a text of lines'],
    // As Node reports that no address of a host can be reached.
    [
      new AggregateError([new Error('ECONNREFUSED ::1'), new Error('ECONNREFUSED 127.0.0.1')]),
      'ECONNREFUSED ::1',
    ],
    [new AggregateError([]), 'AggregateError'],
    [new AggregateError([cause], 'no host can be used'), 'no host can be used'],
  ] as const)
    assert.equal(describeError(error), description)
})
