import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Journal, type Operation, type Outcome, type TrackedBook } from './journal.ts'

const CREATE: Operation = { kind: 'create', content: { author: 'A', year: 1 } }
const UPDATE: Operation = { kind: 'update', changes: { year: 2 } }
const DELETE: Operation = { kind: 'delete' }
const CREATED = { author: 'A', year: 1 }
const UPDATED = { author: 'A', year: 2 }

/** A journal of one book that was created as number 1, and of what was done to it then. */
function journalOf(...then: [Operation, Outcome][]): { journal: Journal; book: TrackedBook } {
  const journal = new Journal()
  const book = journal.newBook()
  journal.record(book, CREATE, 'acknowledged', 1)
  for (const [operation, outcome] of then) journal.record(book, operation, outcome)
  return { journal, book }
}

/** Compares with rows that hold these, and with a sound file. @returns what is wrong, by kind. */
function compare(
  { journal, book: { title } }: ReturnType<typeof journalOf>,
  ...contents: object[]
): string[] {
  const rows = contents.map((content) => ({ id: 1, title, author: '', year: 0, ...content }))
  journal.compare({ rows, integrity: 'ok' })
  return journal.faults.map((fault) => fault.replace(/:.*/s, ''))
}

describe('the journal', () => {
  it('accepts what was acknowledged', () => {
    assert.deepEqual(compare(journalOf(), CREATED), [])
    assert.deepEqual(compare(journalOf([UPDATE, 'acknowledged']), UPDATED), [])
    assert.deepEqual(compare(journalOf([UPDATE, 'acknowledged'], [DELETE, 'acknowledged'])), [])
  })

  it('misses a create, an update and a delete that were acknowledged', () => {
    assert.deepEqual(compare(journalOf()), ['lost'])
    assert.deepEqual(compare(journalOf([UPDATE, 'acknowledged']), CREATED), ['lost'])
    assert.deepEqual(compare(journalOf([DELETE, 'acknowledged']), CREATED), ['lost'])
  })

  for (const outcome of ['unknown', 'refused'] as const) {
    it(`accepts both of a write whose outcome is ${outcome}, and no third`, () => {
      assert.deepEqual(compare(journalOf([UPDATE, outcome]), CREATED), [])
      assert.deepEqual(compare(journalOf([UPDATE, outcome]), UPDATED), [])
      assert.deepEqual(compare(journalOf([UPDATE, outcome])), ['lost'])
      assert.deepEqual(compare(journalOf([DELETE, outcome])), [])
      assert.deepEqual(compare(journalOf([DELETE, outcome]), UPDATED), ['unexplained'])
    })
  }

  it('carries on from what it has seen', () => {
    const state = journalOf([UPDATE, 'unknown'])
    assert.deepEqual(compare(state, UPDATED), [])
    assert.deepEqual(compare(state, CREATED), ['lost'])
    const gone = journalOf([DELETE, 'unknown'])
    assert.deepEqual(compare(gone), [])
    assert.deepEqual(compare(gone, CREATED), ['lost'])
  })

  it('finds what nobody wrote', () => {
    assert.deepEqual(compare(journalOf(), { author: 'A', year: 3 }), ['unexplained'])
    assert.deepEqual(compare(journalOf(), { ...CREATED, id: 2 }), ['unexplained'])
    assert.deepEqual(compare(journalOf(), CREATED, { ...CREATED, title: 'else' }), ['unexplained'])
    assert.deepEqual(compare(journalOf(), CREATED, CREATED), ['unexplained'])
  })

  it('finds answers that contradict each other', () => {
    assert.deepEqual(journalOf([UPDATE, 'notFound']).journal.faults.length, 1)
    assert.deepEqual(journalOf([DELETE, 'acknowledged'], [DELETE, 'acknowledged']).journal.faults.length, 1)
    const { journal } = journalOf()
    journal.record(journal.newBook(), CREATE, 'acknowledged', 1)
    assert.deepEqual(journal.figures.unexplained, 1)
  })

  it('reports a damaged file', () => {
    const { journal } = journalOf([DELETE, 'unknown'])
    journal.compare({ rows: [], integrity: 'malformed' })
    assert.deepEqual(journal.faults, ['damaged: malformed'])
  })
})
