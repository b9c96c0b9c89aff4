import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readOptions } from '../src/options.ts'
import { plan } from '../src/plan.ts'

describe('the plan', () => {
  function workloadsOf(contender: string): string[] {
    const options = readOptions(['--contenders', contender, '--rounds', '1', '--connections', '64'], '')
    return plan(options)
      .filter(({ purpose }) => purpose === 'requests')
      .flatMap(({ cells }) => cells.map(({ workload }) => workload))
  }

  it('asks those that have no login for everything else', () => {
    const all = workloadsOf('nestjs-postgres')
    assert.ok(all.includes('login'))
    assert.deepEqual(
      workloadsOf('node-pg'),
      all.filter((workload) => workload !== 'login'),
    )
  })
})
