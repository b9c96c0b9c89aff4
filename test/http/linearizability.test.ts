import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { useService } from '../support/use-service.ts'
import { type Operation, violations } from './linearizability.ts'

const BOOKS = 4
const HOT_CLIENTS = 16
const BRUTE_FORCE_RUNS = 1000

it(`the check of a history agrees with the search of every order of small ones (${BRUTE_FORCE_RUNS} runs)`, () => {
  const seen = { linearizable: 0, not: 0 }
  fc.assert(
    fc.property(smallHistories(), (history) => {
      const expected = hasLinearOrder(history)
      seen[expected ? 'linearizable' : 'not']++
      assert.equal(violations(history).length === 0, expected)
    }),
    { numRuns: BRUTE_FORCE_RUNS },
  )
  assert.ok(Math.min(seen.linearizable, seen.not) > BRUTE_FORCE_RUNS / 10, JSON.stringify(seen))
})

/** Up to three writes, some of unknown outcome, and four reads at times that often coincide; value 9 is never written. */
function smallHistories(): fc.Arbitrary<Operation<number>[]> {
  const time = fc
    .tuple(fc.nat(9), fc.nat(9))
    .map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) }))
  const writes = fc.oneof(
    { weight: 4, arbitrary: time },
    time.map(({ start }) => ({ start, end: Infinity })),
  )
  const values = fc.oneof({ weight: 20, arbitrary: fc.nat(2) }, fc.constant(9))
  return fc
    .tuple(fc.array(writes, { maxLength: 3 }), fc.array(fc.tuple(time, values), { maxLength: 4 }))
    .map(([writes, reads]) => [
      ...writes.map((write, value): Operation<number> => ({ kind: 'write', value, ...write })),
      ...reads.map(([read, value]): Operation<number> => ({ kind: 'read', value, ...read })),
    ])
}

/** Searches every order that respects time for one in which each read has the value written last. */
function hasLinearOrder(rest: readonly Operation<number>[], value?: number): boolean {
  if (rest.length === 0) return true
  return rest.some((next) => {
    if (rest.some(({ end }) => end < next.start)) return false
    if (next.kind === 'read' && next.value !== value) return false
    return hasLinearOrder(
      rest.filter((operation) => operation !== next),
      next.value,
    )
  })
}

/** The value that a DELETE writes, and that is read where there is no book. */
const GONE = 'gone'

type BookOperation = Operation<number | typeof GONE>

function areLinearizable(settings: () => Promise<Record<string, string>>): void {
  const histories = new Map<number, BookOperation[]>()
  let lastYear = 0
  const service = useService(async () => {
    for (let i = 0; i < BOOKS; i++) await create()
  }, settings)

  async function call(method: string, path: string, year?: number) {
    const body = year === undefined ? {} : { body: JSON.stringify({ title: 'T', author: 'A', year }) }
    const headers = { authorization: service.token }
    const start = performance.now()
    const response = await fetch(service.url + path, { method, headers, ...body })
    const { data } = (await response.json()) as { data: { id: number; year: number } | null }
    const end = performance.now()
    const { status } = response
    assert.ok(response.ok || status === 404 || status === 503, `${method} ${path}: ${status}`)
    return { data, status, start, end }
  }

  async function create(): Promise<void> {
    const value = ++lastYear
    const { data, start, end } = await call('POST', '/book', value)
    assert.ok(data)
    histories.set(data.id, [{ kind: 'write', value, start, end }])
  }

  async function read(id: number): Promise<void> {
    const { data, status, start, end } = await call('GET', `/book/${id}`)
    if (status !== 503) histories.get(id)?.push({ kind: 'read', value: data?.year ?? GONE, start, end })
  }

  async function write(id: number): Promise<void> {
    const value = ++lastYear
    const { data, status, start, end } = await call('PUT', `/book/${id}`, value)
    const history = histories.get(id)
    // What is refused may be done all the same, and even later.
    if (status === 503) history?.push({ kind: 'write', value, start, end: Infinity })
    // A PUT that finds no book has only read.
    else if (data === null) history?.push({ kind: 'read', value: GONE, start, end })
    else history?.push({ kind: 'write', value, start, end })
    if (data !== null) assert.equal(data.year, value)
  }

  /** Deletes the book, however often it takes. @returns when that was known. */
  async function remove(id: number): Promise<number> {
    const { start, ...first } = await call('DELETE', `/book/${id}`)
    let { status, end } = first
    while (status === 503) ({ status, end } = await call('DELETE', `/book/${id}`))
    histories.get(id)?.push({ kind: 'write', value: GONE, start, end })
    return end
  }

  /** Reads a book, and now and then writes it. */
  async function use(id: number, operations: number, writeEvery: number): Promise<void> {
    for (let i = 0; i < operations; i++) await (i % writeEvery === writeEvery - 1 ? write(id) : read(id))
  }

  function assertLinearizable(): void {
    for (const [id, history] of histories) assert.deepEqual(violations(history).slice(0, 3), [], `book ${id}`)
  }

  it(`are as linearizable as registers, even if all use one book (${HOT_CLIENTS} clients)`, async () => {
    const [hot = 0] = histories.keys()
    await Promise.all(Array.from({ length: HOT_CLIENTS }, (_, client) => use(hot, 20, 2 + (client % 3))))
    assertLinearizable()
  })

  it('are so while few write, whose writes others do not replace soon, and stay deleted at last', async () => {
    const clients = [...histories.keys()].flatMap((id) => [2, 15, 20].map((every) => use(id, 40, every)))
    const deletions = [...histories.keys()].map(async (id) => {
      await use(id, 30, 20)
      const end = await remove(id)
      await use(id, 5, 5)
      return { id, end }
    })
    const deleted = await Promise.all(deletions)
    await Promise.all(clients)
    assertLinearizable()
    for (const { id, end } of deleted) {
      const later = (histories.get(id) ?? []).filter(({ start }) => start > end)
      assert.ok(later.length > 0)
      assert.deepEqual(
        // What was refused, and may be done all the same, has no end.
        later.filter(({ value, end }) => value !== GONE && end < Infinity),
        [],
        `book ${id} after its deletion`,
      )
    }
  })
}

for (const THREADS of ['1', '4']) {
  describe(`books that many clients read and write at once, on sqlite with ${THREADS} threads`, () =>
    areLinearizable(async () => ({ THREADS })))
}

for (const engine of ['postgres', 'mysql'] as const) {
  describe(`books that many clients read and write at once, on ${engine}`, {
    skip: engineMissing(engine),
  }, () => {
    let url = ''
    areLinearizable(async () => {
      url = await (await databases()).createDatabase()
      return { DB_URL: url, THREADS: '2' }
    })
    after(async () => (await databases()).dropDatabase(url))
    // Ends the server after the hooks above.
    const databases = useDatabases(engine)
  })
}
