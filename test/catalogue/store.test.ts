import assert from 'node:assert/strict'
import { it } from 'node:test'
import { StoreUnavailable } from '../../src/catalogue/store.ts'

it('a store that is unavailable has the reason of the cause, if that is known', () => {
  const reasonWith = (cause: Error) => new StoreUnavailable('not ready', { cause }).reason
  assert.equal(reasonWith(new StoreUnavailable('full', { reason: 'disk' })), 'disk')
  assert.equal(reasonWith(new Error('?')), 'other')
})
