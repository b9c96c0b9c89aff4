import { it } from 'node:test'
import { runSpec } from '../support/run-spec.ts'
import { behindEachProxy } from './behind-proxy.ts'

behindEachProxy((way) => {
  it('keeps the contract', () => runSpec(way().url, { NODE_EXTRA_CA_CERTS: way().caFile }))
})
