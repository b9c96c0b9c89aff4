import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Book, BookChanges } from '../../../src/catalogue/book.ts'
import { makeDurable, unavailableReason } from '../../../src/store/sqlite/connection.ts'
import {
  GroupCommit,
  type Outcome,
  type Write,
  type WrittenBook,
} from '../../../src/store/sqlite/group-commit.ts'
import { ensureSchema } from '../../../src/store/sqlite/schema.ts'
import { newFile } from './file.ts'

/** How long the connections of these tests wait for a lock, in milliseconds. */
const BUSY_TIMEOUT = 50

const create = (title: string, year = 1): Write => ({
  kind: 'create',
  book: { title, author: 'A', year },
})
const remove = (id: number): Write => ({ kind: 'delete', id, expected: undefined })
const update = (id: number, changes: BookChanges): Write => ({
  kind: 'update',
  id,
  changes,
  expected: undefined,
})
const book = (id: number, title: string, year = 1): Book => ({ id, title, author: 'A', year })

describe('a group of writes that SQLite commits together', () => {
  let file: ReturnType<typeof newFile>
  let database: DatabaseSync
  let other: DatabaseSync
  let group: GroupCommit
  beforeEach(() => {
    file = newFile()
    database = new DatabaseSync(file.path, { timeout: BUSY_TIMEOUT })
    makeDurable(database)
    ensureSchema(database)
    group = new GroupCommit(database)
    other = new DatabaseSync(file.path, { timeout: BUSY_TIMEOUT })
  })
  afterEach(() => {
    other.close()
    database.close()
    file[Symbol.dispose]()
  })

  /** As another connection sees them, and so only those that are committed. */
  const stored = () => other.prepare('SELECT * FROM books ORDER BY id').all().map(plain)
  const commit = (...writes: Write[]) => group.commit(writes).map(rowOrError)
  const rows = (...titles: string[]) => commit(...titles.map((title) => create(title)))

  it('has its outcomes in the order of the writes, and is stored when they are told', () => {
    assert.deepEqual(commit(create('a'), create('b', 2), create('c')), [{ id: 1 }, { id: 2 }, { id: 3 }])
    assert.deepEqual(stored(), [book(1, 'a'), book(2, 'b', 2), book(3, 'c')])
  })

  it('is applied in its order: each write sees those before it', () => {
    const outcomes = commit(
      update(1, { year: 0 }),
      create('a'),
      update(1, { year: 2 }),
      update(1, { title: 'b' }),
      update(1, {}),
      remove(1),
      remove(1),
      update(1, { year: 3 }),
      create('c'),
    )
    assert.deepEqual(outcomes, [
      undefined,
      { id: 1 },
      book(1, 'a', 2),
      book(1, 'b', 2),
      book(1, 'b', 2),
      { id: 1 },
      undefined,
      undefined,
      { id: 2 },
    ])
    assert.deepEqual(stored(), [book(2, 'c')])
  })

  it('has no row for ids that are missing, and stores its other writes', () => {
    const missing = [0, -1, 7, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]
    const writes = missing.flatMap((id) => [remove(id), update(id, { title: 'x' })])
    assert.deepEqual(commit(create('a'), ...writes, create('b')), [
      { id: 1 },
      ...writes.map(() => undefined),
      { id: 2 },
    ])
    assert.deepEqual(stored(), [book(1, 'a'), book(2, 'b')])
  })

  it('may be empty', () => {
    assert.deepEqual(commit(), [])
    assert.deepEqual(rows('a'), [{ id: 1 }])
  })

  it('keeps its other writes when one fails in the database', () => {
    forbid('no', "RAISE(ABORT, 'forbidden')")
    const outcomes = commit(create('a'), create('no'), update(1, { title: 'no' }), create('b'), remove(1))
    assert.deepEqual(outcomes, [{ id: 1 }, 'forbidden', 'forbidden', { id: 2 }, { id: 1 }])
    assert.deepEqual(stored(), [book(2, 'b')])
  })

  it('keeps its other writes when one has a value that cannot be bound or stored', () => {
    const unbindable = { kind: 'create', book: { title: {}, author: 'A', year: 1 } } as unknown as Write
    const fractional = create('x', 1.5)
    const [first, second, third, fourth] = group.commit([create('a'), unbindable, fractional, create('b')])
    assert.deepEqual([first, fourth].map(rowOrError), [{ id: 1 }, { id: 2 }])
    for (const outcome of [second, third]) assert.equal(outcome && reasonOf(outcome), undefined)
    assert.deepEqual(stored(), [book(1, 'a'), book(2, 'b')])
  })

  it('fails as a whole, and stores nothing, when one of its writes ends the transaction', () => {
    rows('before')
    forbid('end', "RAISE(ROLLBACK, 'rolled back')")
    assert.deepEqual(
      commit(create('a'), remove(1), create('end'), create('b'), update(1, { year: 9 })),
      Array(5).fill('rolled back'),
    )
    assert.deepEqual(stored(), [book(1, 'before')])
    assert.deepEqual(rows('after'), [{ id: 2 }])
  })

  it('fails as a whole, and stores nothing, when it cannot be committed', () => {
    other.exec(`
      CREATE TABLE debts (book INTEGER REFERENCES books DEFERRABLE INITIALLY DEFERRED);
      CREATE TRIGGER debt AFTER INSERT ON books WHEN NEW.title = 'debt' BEGIN INSERT INTO debts VALUES (-1); END`)
    const outcomes = group.commit([create('a'), create('debt'), create('b')])
    for (const outcome of outcomes) {
      assert.match(String(rowOrError(outcome)), /FOREIGN KEY/)
      assert.equal(reasonOf(outcome), undefined)
    }
    assert.equal(outcomes.length, 3)
    assert.deepEqual(stored(), [])
    assert.deepEqual(rows('c'), [{ id: 1 }])
    assert.deepEqual(stored(), [book(1, 'c')])
  })

  it('fails as unavailable while another connection holds the write lock, and works afterwards', () => {
    other.exec('BEGIN IMMEDIATE')
    const outcomes = group.commit([create('a'), remove(1)])
    assert.equal(outcomes.length, 2)
    for (const outcome of outcomes) assert.equal(reasonOf(outcome), 'conflict')
    other.exec('ROLLBACK')
    assert.deepEqual(rows('b'), [{ id: 1 }])
    assert.deepEqual(stored(), [book(1, 'b')])
  })

  it('tells of exactly what is stored when the file may not grow any more', () => {
    rows('before')
    const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count)
    database.exec(`PRAGMA max_page_count = ${pages + 4}`)
    const titles = Array.from({ length: 20 }, (_, i) => String(i).repeat(3000))
    const outcomes = group.commit(titles.map((title) => create(title)))
    const failed = outcomes.filter((outcome) => 'error' in outcome)
    assert.ok(failed.length > 0)
    for (const outcome of failed) assert.equal(reasonOf(outcome), 'disk')
    const told = outcomes.flatMap((outcome, i) =>
      'book' in outcome && outcome.book ? [book(outcome.book.id, titles[i] ?? '')] : [],
    )
    assert.deepEqual(stored(), [book(1, 'before'), ...told])
  })

  it('never gives an id twice, whatever was rolled back or deleted in between', () => {
    forbid('end', "RAISE(ROLLBACK, 'rolled back')")
    const given: number[] = []
    for (let round = 0; round < 30; round++) {
      const last = given.at(-1) ?? 0
      const titles = round % 3 === 1 ? ['a', 'b', 'end'] : ['a', 'b']
      const outcomes = commit(
        ...titles.map((title) => create(title)),
        ...(round % 4 === 0 ? [remove(last)] : []),
      )
      for (const outcome of outcomes.slice(0, titles.length)) {
        if (typeof outcome === 'object') given.push(outcome.id)
      }
    }
    assert.equal(given.length, 40)
    assert.equal(new Set(given).size, given.length)
  })

  /** Lets the file itself refuse a title. */
  function forbid(title: string, action: string): void {
    for (const event of ['INSERT', 'UPDATE'])
      other.exec(`
        CREATE TRIGGER ${event}_${title} BEFORE ${event} ON books WHEN NEW.title = '${title}'
        BEGIN SELECT ${action}; END`)
  }
})

/** SQLite's objects have no prototype. */
const plain = (row: object) => ({ ...row })

/** The row, or the message of the error. */
function rowOrError(outcome: Outcome | undefined): WrittenBook | string | undefined {
  assert.ok(outcome)
  return 'error' in outcome ? (outcome.error as Error).message : outcome.book && { ...outcome.book }
}

/** Why the database cannot be used now, if that is the reason of the error. */
function reasonOf(outcome: Outcome): string | undefined {
  assert.ok('error' in outcome)
  return unavailableReason(outcome.error)
}
