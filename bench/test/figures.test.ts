import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { figuresOf, rateOf, ratioOf } from '../src/report/figures.ts'
import { CASE, results, run } from './made-up-results.ts'

describe('the figures of a case', () => {
  it('compares contenders within a round', () => {
    const all = results(
      ...[run('service-sqlite', 1, 1000), run('fastify', 1, 500)],
      ...[run('service-sqlite', 2, 100), run('fastify', 2, 80)],
    )
    const ratio = ratioOf(all, 'fastify', 'service-sqlite', CASE, rateOf)
    assert.deepEqual([ratio?.min, ratio?.max], [0.5, 0.8])
  })

  it('leaves out what failed, and the rounds in which nothing is there to compare with', () => {
    const all = results(
      ...[run('service-sqlite', 1, 1000), run('fastify', 1, 900, { failure: '1 × status 500' })],
      ...[run('service-sqlite', 2, 100, { failure: 'no answer in time' }), run('fastify', 2, 80)],
      ...[run('service-sqlite', 3, 100), run('fastify', 3, 30)],
    )
    const [, fastify] = figuresOf(all, CASE)
    assert.deepEqual(fastify?.rate, { median: 27.5, min: 15, max: 40 })
    assert.deepEqual(fastify?.rateRatio, { median: 0.3, min: 0.3, max: 0.3 })
  })

  it('gives CPU time per request in microseconds', () => {
    const [service] = figuresOf(results(run('service-sqlite', 1, 20_000)), CASE)
    assert.deepEqual([service?.cpu.median, service?.databaseCpu.median], [50, 25])
    assert.equal(service?.generator.median, 0.2)
  })

  it('compares those on a server with this service on that server', () => {
    const all = results(
      ...[run('service-sqlite', 1, 1000), run('service-postgres', 1, 400), run('nestjs-postgres', 1, 100)],
    )
    const nest = figuresOf(all, CASE).find(({ contender }) => contender.id === 'nestjs-postgres')
    assert.equal(nest?.rateRatio?.median, 0.25)
  })

  it('does not mix cases', () => {
    const other = run('service-sqlite', 1, 1000, { connections: 1 })
    assert.deepEqual(figuresOf(results(other, run('service-sqlite', 1, 10, { books: 100 })), CASE), [])
  })
})
