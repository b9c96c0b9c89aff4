import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import type { Job } from '../src/load/job.ts'
import { measure } from '../src/load/measurement.ts'

describe('a measurement', () => {
  let server: Server | undefined
  afterEach(() => server?.close())

  /** A job against a server of its own that answers so. */
  async function job(answer: RequestListener, changes: Partial<Job> = {}): Promise<Job> {
    const listening = createServer(answer)
    server = listening
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
    const { port } = listening.address() as AddressInfo
    const fixed = { workload: 'get', books: 10, warmUp: 0.1, seconds: 0.3, answers: 1 } as const
    return { ...fixed, port, connections: 4, server: process.pid, database: undefined, ...changes }
  }

  it('counts what was answered, and asks for the books that are there with a token', async () => {
    const paths = new Set<string | undefined>()
    const tokens = new Set<string | undefined>()
    let count = 0
    const load = await measure(
      await job(
        (request, response) => {
          count++
          paths.add(request.url)
          tokens.add(request.headers.authorization)
          response.end('{}')
        },
        { answers: 100 },
      ),
    )
    assert.deepEqual(load.errors, {})
    assert.equal(load.allAnswers, count)
    assert.ok(load.answers >= 100 && load.answers < count, `${load.answers} of ${count}`)
    assert.ok(load.seconds >= 0.3 && load.seconds < 5, `${load.seconds} s`)
    assert.ok(load.p50 <= load.p99 && load.p99 <= load.max)
    assert.deepEqual(
      [...paths].map((path) => Number(path?.slice('/book/'.length))).toSorted((a, b) => a - b),
      Array.from({ length: 10 }, (_, i) => i + 1),
    )
    assert.equal(tokens.size, 4)
    assert.ok(load.cpu.server > 0 && load.cpu.generator > 0 && load.cpu.database === 0)
  })

  it('counts only the clients that read while others write', async () => {
    const counts = { GET: 0, POST: 0 }
    const load = await measure(
      await job(
        ({ method, headers }, response) => {
          counts[method as 'GET' | 'POST']++
          assert.ok(headers.authorization)
          // There are far more writes than reads, so that it shows if they are counted.
          if (method === 'GET') setTimeout(() => response.end('{}'), 50)
          else response.writeHead(201).end('{}')
        },
        { workload: 'busy', answers: 20 },
      ),
    )
    assert.deepEqual(load.errors, {})
    assert.equal(load.allAnswers, counts.GET + counts.POST)
    assert.ok(counts.POST > 2 * counts.GET, `${counts.POST} writes`)
    assert.ok(load.answers >= 20 && load.answers < counts.GET)
    assert.ok(load.p50 >= 49, `${load.p50} ms`)
  })

  it('measures latency', async () => {
    const load = await measure(await job((_request, response) => setTimeout(() => response.end('{}'), 200)))
    assert.ok(load.p50 >= 199 && load.p50 < 500, `${load.p50} ms`)
  })

  it('reports every status that is not the right one', async () => {
    const load = await measure(
      await job(({ url }, response) => {
        response.statusCode = url === '/book/3' ? 500 : 200
        response.end('{}')
      }),
    )
    assert.deepEqual(Object.keys(load.errors), ['status 500 instead of 200'])
  })

  it('reports connections that are cut', async () => {
    const load = await measure(
      await job(({ url, socket }, response) => {
        if (url === '/book/3') socket.destroy()
        else response.end('{}')
      }),
    )
    assert.notDeepEqual(load.errors, {})
  })

  it('deletes each book once, and ends when none is left', async () => {
    const paths: (string | undefined)[] = []
    const load = await measure(
      await job(
        ({ method, url }, response) => {
          paths.push(`${method} ${url}`)
          setTimeout(() => response.end('{}'), 20)
        },
        { workload: 'delete', deletable: { first: 11, last: 50 }, seconds: 10 },
      ),
    )
    assert.deepEqual(
      paths.toSorted(),
      Array.from({ length: 40 }, (_, i) => `DELETE /book/${i + 11}`),
    )
    assert.equal(load.allAnswers, 40)
    assert.ok(load.seconds < 5, `${load.seconds} s`)
  })

  it('goes on until enough was answered', async () => {
    const load = await measure(
      await job((_request, response) => setTimeout(() => response.end('{}'), 200), { answers: 12 }),
    )
    assert.equal(load.answers, 12)
    assert.ok(load.seconds >= 0.45, `${load.seconds} s`)
  })
})
