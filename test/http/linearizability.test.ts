import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { useService } from '../support/use-service.ts'

const BOOKS = 4
const HOT_CLIENTS = 16

/** An operation on a register. Times are of one monotonic clock: `start` before it was sent, `end` after its response. */
interface Operation<Value> {
  readonly kind: 'read' | 'write'
  /** What was written or read. No two writes are of the same value. */
  readonly value: Value
  readonly start: number
  readonly end: number
}

/**
 * Checks that a history of one register is linearizable: that each operation can have happened at one moment
 * between its start and its end. By the zones of Gibbons and Korach, Testing Shared Memories (1997), theorem 4.
 * @returns groups of operations that cannot all have happened, none if the history is linearizable.
 */
function violations<Value>(history: readonly Operation<Value>[]): (readonly Operation<Value>[])[] {
  const byValue = [...Map.groupBy(history, ({ value }) => value).values()]
  // What nobody wrote was read, or what was written later.
  const unwritten = byValue.filter((operations) => {
    const write = operations.find(({ kind }) => kind === 'write')
    return write === undefined || operations.some(({ end }) => end < write.start)
  })
  // In a linear order, the operations on one value follow one another, and nothing else is between.
  const zones = byValue.map((operations) => ({
    operations,
    /** After this the value was there. */
    firstEnd: Math.min(...operations.map(({ end }) => end)),
    /** Before this the value was not yet replaced. */
    lastStart: Math.max(...operations.map(({ start }) => start)),
  }))
  // Between the two, if that is forward in time, the register surely had this value, and no other one.
  const conflicting = zones
    .filter(({ firstEnd, lastStart }) => firstEnd < lastStart)
    .flatMap((zone) =>
      zones
        .filter(
          (other) => other !== zone && zone.firstEnd < other.lastStart && other.firstEnd < zone.lastStart,
        )
        .map((other) => [...zone.operations, ...other.operations]),
    )
  return [...unwritten, ...conflicting]
}

const write = (value: number, start: number, end: number) => ({ kind: 'write' as const, value, start, end })
const read = (value: number, start: number, end: number) => ({ kind: 'read' as const, value, start, end })

for (const [what, isLinearizable, ...history] of [
  ['one of two that overlap', true, write(1, 0, 5), write(2, 1, 4), read(1, 6, 7)],
  ['one that may be written later', true, write(1, 0, Infinity), read(1, 8, 9)],
  ['one that nobody wrote', false, write(1, 0, 1), read(9, 2, 3)],
  ['one that was replaced', false, write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)],
  ['two in either order', false, write(1, 0, 5), write(2, 0, 5), read(1, 6, 7), read(2, 6, 7), read(1, 8, 9)],
] as const)
  it(`the check of a history ${isLinearizable ? 'accepts' : 'finds'} a read of ${what}`, () =>
    assert.equal(violations<number>(history).length === 0, isLinearizable))

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

  it(`are as linearizable as registers, even if all use one book (${HOT_CLIENTS} clients), and stay deleted`, async () => {
    const [hot = 0, ...others] = histories.keys()
    const clients = Array.from({ length: HOT_CLIENTS }, (_, client) => use(hot, 20, 2 + (client % 3)))
    // Few write, so that others do not replace their writes soon.
    clients.push(...others.flatMap((id) => [2, 15, 20].map((every) => use(id, 40, every))))
    const deletions = others.map(async (id) => {
      await use(id, 30, 20)
      const end = await remove(id)
      await use(id, 5, 5)
      return { id, end }
    })
    const deleted = await Promise.all(deletions)
    await Promise.all(clients)
    for (const [id, history] of histories) assert.deepEqual(violations(history).slice(0, 3), [], `book ${id}`)
    for (const { id, end } of deleted) {
      const later = (histories.get(id) ?? []).filter(({ start }) => start > end)
      assert.ok(later.length > 0)
      // What was refused, and may be done all the same, has no end.
      const found = later.filter(({ value, end }) => value !== GONE && end < Infinity)
      assert.deepEqual(found, [], `book ${id} after its deletion`)
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
    areLinearizable(async () => ({ DB_URL: await (await databases()).createDatabase(), THREADS: '2' }))
    const databases = useDatabases(engine)
  })
}
