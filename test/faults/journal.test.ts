import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Journal, type Operation, type Outcome, type TrackedBook } from './journal.ts'

const CREATE: Operation = { kind: 'create', content: { author: 'A', year: 1 } }
const UPDATE: Operation = { kind: 'update', changes: { year: 2 } }
const DELETE: Operation = { kind: 'delete' }
const CREATED = { author: 'A', year: 1 }
const UPDATED = { author: 'A', year: 2 }

/** A journal of one book that was created as number 1, and of writes to it, each with its outcome. */
function journalOf(...writes: (Operation | Outcome)[]): { journal: Journal; book: TrackedBook } {
  const journal = new Journal()
  const book = journal.newBook()
  journal.record(book, CREATE, 'acknowledged', 1)
  for (let i = 0; i < writes.length; i += 2)
    journal.record(book, writes[i] as Operation, writes[i + 1] as Outcome)
  return { journal, book }
}

/** Compares with rows that hold these, and with a sound file. @returns what is wrong, by kind. */
function compare({ journal, book: { title } }: ReturnType<typeof journalOf>, ...contents: object[]): string {
  const rows = contents.map((content) => ({ id: 1, title, author: '', year: 0, ...content }))
  journal.compare({ rows, integrity: 'ok' })
  return journal.faults.map((fault) => fault.replace(/:.*/s, '')).join()
}

const DONE = 'acknowledged'
for (const [what, writes, rows, faults] of [
  ['an update', [UPDATE, DONE], [UPDATED], ''],
  ['an update that is lost', [UPDATE, DONE], [CREATED], 'lost'],
  ['a delete that is lost', [DELETE, DONE], [CREATED], 'lost'],
  ['another id', [], [{ ...CREATED, id: 2 }], 'unexplained'],
  ['a book that nobody created', [], [CREATED, { ...CREATED, title: 'else' }], 'unexplained'],
  ['a book that is there twice', [], [CREATED, CREATED], 'unexplained'],
  ['a book that was found missing before', [UPDATE, 'notFound'], [], 'lost'],
  ['a delete that was done twice', [DELETE, DONE, DELETE, DONE], [], 'unexplained,lost'],
  ['an update that is undone', [UPDATE, 'undone'], [CREATED], ''],
  ['an update that was to be undone, done', [UPDATE, 'undone'], [UPDATED], 'unexplained'],
  ['an update that is refused, not done', [UPDATE, 'refused'], [CREATED], ''],
  ['an update that is refused, done', [UPDATE, 'refused'], [UPDATED], ''],
  ['a delete whose response is lost, and a change', [DELETE, 'unknown'], [UPDATED], 'unexplained'],
] as const)
  it(`the journal finds ${faults || 'nothing wrong'}: ${what}`, () =>
    assert.equal(compare(journalOf(...writes), ...rows), faults))

it('the journal carries on from what it has seen', () => {
  const state = journalOf(UPDATE, 'unknown')
  assert.equal(compare(state, UPDATED), '')
  assert.equal(compare(state, CREATED), 'lost')
  const gone = journalOf(DELETE, 'unknown')
  assert.equal(compare(gone), '')
  assert.equal(compare(gone, CREATED), 'lost')
})

it('the journal finds an id that is given twice, and a damaged file', () => {
  const { journal } = journalOf(DELETE, 'unknown')
  journal.record(journal.newBook(), CREATE, 'acknowledged', 1)
  assert.equal(journal.figures.unexplained, 1)
  journal.compare({ rows: [], integrity: 'malformed' })
  assert.equal(journal.figures.damaged, 1)
})
