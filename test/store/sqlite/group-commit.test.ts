import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Book, BookChanges } from '../../../src/catalogue/book.ts'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { storeError } from '../../../src/store/sqlite/errors.ts'
import {
  groupCommit,
  type Outcome,
  type Write,
  type WrittenBook,
} from '../../../src/store/sqlite/group-commit.ts'
import { plain } from '../pages.ts'
import { newDatabase } from './file.ts'

const create = (title: string, year = 1): Write => ({ kind: 'create', book: { title, author: 'A', year } })
const expected = undefined
const remove = (id: number): Write => ({ kind: 'delete', id, expected })
const update = (id: number, changes: BookChanges): Write => ({ kind: 'update', id, changes, expected })
const book = (id: number, title: string): Book => ({ id, title, author: 'A', year: 1 })

describe('a group of writes that SQLite commits together', () => {
  let file: ReturnType<typeof newDatabase>
  let database: DatabaseSync
  let other: DatabaseSync
  let group: ReturnType<typeof groupCommit>
  beforeEach(() => {
    file = newDatabase()
    database = file.database
    group = groupCommit(database, () => {})
    other = new DatabaseSync(file.path, { timeout: 50 })
  })
  afterEach(() => {
    other.close()
    file[Symbol.dispose]()
  })

  /** As another connection sees them, and so only those that are committed. */
  const stored = () => plain(other.prepare('SELECT * FROM books ORDER BY id').all() as never)
  const commit = (...writes: Write[]) => group(writes).map(rowOrError)
  const rows = (...titles: string[]) => commit(...titles.map((title) => create(title)))

  it('is on the disk when it is committed', () => {
    const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})
    // 2 is FULL (sqlite.org/pragma.html).
    assert.deepEqual([pragma('journal_mode'), pragma('synchronous')], [['wal'], [2]])
  })

  /** Lets the file itself refuse a title. */
  function forbid(title: string, action: string): void {
    for (const event of ['INSERT', 'UPDATE'])
      other.exec(`
        CREATE TRIGGER ${event}_${title} BEFORE ${event} ON books WHEN NEW.title = '${title}'
        BEGIN SELECT ${action}; END`)
  }

  it('keeps its other writes when one fails in the database, or cannot be bound or stored', () => {
    forbid('no', "RAISE(ABORT, 'forbidden')")
    const unbindable = { kind: 'create', book: { title: {}, author: 'A', year: 1 } } as unknown as Write
    const writes = [create('a'), create('no'), update(1, { title: 'no' }), unbindable, create('x', 1.5)]
    const outcomes = group([...writes, create('b'), remove(1)])
    assert.deepEqual(
      outcomes.map((outcome) => ('error' in outcome ? reasonOf(outcome) : outcome.book?.id)),
      [1, undefined, undefined, undefined, undefined, 2, 1],
    )
    assert.equal(rowOrError(outcomes[1]), 'forbidden')
    assert.deepEqual(stored(), [book(2, 'b')])
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
    const outcomes = group([create('a'), create('debt'), create('b')])
    assert.equal(outcomes.length, 3)
    for (const outcome of outcomes) {
      assert.match(String(rowOrError(outcome)), /FOREIGN KEY/)
      assert.equal(reasonOf(outcome), undefined)
    }
    assert.deepEqual(stored(), [])
    assert.deepEqual(rows('c'), [{ id: 1 }])
    assert.deepEqual(stored(), [book(1, 'c')])
  })

  it('waits for the lock of another writer once, not for each of its writes', () => {
    other.exec('BEGIN IMMEDIATE')
    const outcomes = group([create('a'), create('b')])
    assert.equal(new Set(outcomes.map((outcome) => 'error' in outcome && outcome.error)).size, 1)
    assert.equal(reasonOf(outcomes[0] as Outcome), 'conflict')
  })
})

/** The row, or the message of the error. */
function rowOrError(outcome: Outcome | undefined): WrittenBook | string | undefined {
  assert.ok(outcome)
  return 'error' in outcome ? (outcome.error as Error).message : outcome.book && { ...outcome.book }
}

/** Why the database cannot be used now, if that is the reason of the error. */
function reasonOf(outcome: Outcome): string | undefined {
  assert.ok('error' in outcome)
  const error = storeError(outcome.error)
  return error instanceof StoreUnavailable ? error.reason : undefined
}
