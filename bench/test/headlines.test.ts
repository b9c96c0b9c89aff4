import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { headlines } from '../src/report/headlines.ts'
import type { Run, Session } from '../src/results.ts'
import { cpu, results, run } from './made-up-results.ts'

/** The figure of the only row whose text begins and ends so. */
function figure(runs: readonly Run[], begin: string, end: string): string | undefined {
  const rows = headlines(results(...runs)).filter(([what]) => what.startsWith(begin) && what.endsWith(end))
  assert.ok(rows.length <= 1, `${rows.length} rows`)
  return rows[0]?.[2]
}

describe('the headlines on PostgreSQL', () => {
  const others = [
    ['nestjs-postgres', 'NestJS with TypeORM', 500, '2'],
    ['node-pg', 'node:http with pg, without a token check', 2000, '0.5'],
    ['gin-gorm', 'Gin with GORM on all cores, with its default pool', 250, '4'],
    ['gin-gorm-pool', 'Gin with GORM on all cores, with a pool of ten', 800, '1.25'],
  ] as const

  for (const [workload, title] of [
    ['get', 'GET one book'],
    ['post', 'POST'],
    ['put', 'PUT'],
    ['delete', 'DELETE'],
  ] as const) {
    it(`divides the rate of ${title} by that of each other on PostgreSQL`, () => {
      const runs = [
        run('service-postgres', 1, 1000, { workload }),
        ...others.map(([id, , answers]) => run(id, 1, answers, { workload })),
      ]
      const found = others.map(([, name]) => {
        return figure(runs, `${title} on PostgreSQL, requests per second: `, `this service ÷ ${name}`)
      })
      assert.deepEqual(
        found,
        others.map(([, , , expected]) => expected),
      )
    })
  }

  it('has no row for what was not measured', () => {
    const runs = [run('service-postgres', 1, 1000), run('node-pg', 1, 500)]
    const rows = headlines(results(...runs)).filter(([what]) => what.includes('requests per second'))
    assert.deepEqual(
      rows.map(([what]) => what),
      [
        'GET one book on PostgreSQL, requests per second: this service ÷ node:http with pg, without a token check',
      ],
    )
  })

  it('adds the CPU time of the database server before it compares with SQLite', () => {
    const runs = [
      run('service-postgres', 1, 1000, { cpu: cpu(2, 4) }),
      run('service-sqlite', 1, 1000, { cpu: cpu(1.5) }),
    ]
    assert.equal(figure(runs, 'GET one book, CPU per request', 'this service on PostgreSQL ÷ on SQLite'), '4')
  })

  it('compares the list with the fastest other on PostgreSQL, and names it', () => {
    const list = { workload: 'list', purpose: 'list', connections: 1 } as const
    const runs = [
      run('service-postgres', 1, 100, list),
      run('nestjs-postgres', 1, 50, list),
      run('node-pg', 1, 80, list),
      run('fastify', 1, 400, list),
    ]
    const found = figure(runs, 'List of 10,000 on PostgreSQL', '')
    assert.equal(found, '1.25, node:http + pg, no token check at 1 connection')
  })
})

describe('the estimate for 16 cores', () => {
  const estimate = (workload: 'get' | 'post', writer: number) =>
    figure(
      [run('service-sqlite-2', 1, 1000, { workload, cpu: cpu(1, 0, writer) })],
      workload === 'get' ? 'GET one book on SQLite with' : 'Durable POST on SQLite with',
      'an estimate',
    )

  it('multiplies what all threads do, if none of it is the writer’s', () =>
    assert.equal(estimate('get', 0), '16,000; 100 % of the work is parallel'))

  it('ends where the writer is busy all the time', () =>
    assert.equal(estimate('post', 0.25), '4,000; 75 % of the work is parallel'))
})

describe('the best other', () => {
  it('is none that checks no tokens', () => {
    const workload = 'post'
    const runs = [
      run('service-sqlite', 1, 1000, { workload }),
      run('fastify', 1, 500, { workload }),
      run('node-pg', 1, 2000, { workload }),
    ]
    assert.equal(figure(runs, 'Durable POST', ''), '2, Fastify + better-sqlite3')
  })
})

it('the memory of a second thread is what two have more than one', () => {
  const session = (contender: string, megabytes: number): Session => {
    const memory = { idleMemory: 1e6 * megabytes, peakMemory: 0 }
    return { contender, round: 1, books: 10_000, purpose: 'requests', startUp: 250, ...memory }
  }
  const sessions = [session('service-sqlite', 100), session('service-sqlite-2', 120)]
  const figures = headlines({ ...results(), sessions }).map(([, , figure]) => figure)
  assert.deepEqual(figures, ['250', '100', '20'])
})
