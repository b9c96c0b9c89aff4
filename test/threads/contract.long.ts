import { describe, it } from 'node:test'
import { runSpec } from '../support/run-spec.ts'
import { useService } from '../support/use-service.ts'

describe('a service with four threads', () => {
  const service = useService(undefined, { THREADS: '4' })

  it('keeps the contract, and the decisions where it is silent', () => runSpec(service.url, {}, []))
})
