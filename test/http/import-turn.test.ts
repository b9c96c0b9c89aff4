import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ImportTurn } from '../../src/http/services.ts'

it('the turn to import belongs to one owner, who alone ends it', () => {
  const turn = new ImportTurn()
  const [first, second] = [{}, {}]
  assert.deepEqual([turn.begin(first), turn.begin(second), turn.begin(first)], [true, false, false])
  turn.end(second)
  assert.equal(turn.begin(second), false, 'a thread that dies does not end the import of another one')
  turn.end(first)
  assert.equal(turn.begin(second), true)
})
