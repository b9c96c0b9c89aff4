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

  it('with --quick has what every ratio of the report needs, and no catalogues of several sizes', () => {
    const sessions = plan(readOptions(['--quick'], ''))
    assert.deepEqual([...new Set(sessions.map(({ purpose }) => purpose))].toSorted(), ['list', 'requests'])
    const cells = sessions
      .filter(({ contender }) => contender.id === 'service-sqlite')
      .flatMap((one) => one.cells)
    assert.deepEqual([...new Set(cells.map(({ workload }) => workload))].toSorted(), [
      'delete',
      'get',
      'list',
      'post',
      'put',
    ])
  })

  it('compares sizes with few, many and very many connections', () => {
    const [session] = plan(readOptions(['--only', 'growth', '--contenders', 'service-sqlite,floor'], ''))
    const cells = (session?.cells ?? []).map(({ workload, connections }) => `${workload} ${connections}`)
    assert.deepEqual(cells.slice(0, 4), ['list 1', 'get 1', 'get 64', 'get 1000'])
    assert.equal(cells.length, 13)
  })
})
