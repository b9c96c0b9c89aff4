import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readInTurn } from '../../src/http/routes/list-stream.ts'

it('pages are read at once while the turn has time for them, the others in later turns, in their order', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const read: string[] = []
  const slowly = (name: string) => () => {
    now += 5
    read.push(name)
  }
  readInTurn(() => read.push('first'))
  readInTurn(slowly('slow'))
  readInTurn(slowly('late'))
  readInTurn(() => read.push('last'))
  assert.deepEqual(read, ['first', 'slow'])
  await nextTurn()
  assert.deepEqual(read, ['first', 'slow', 'late'])
  readInTurn(() => read.push('new'))
  await nextTurn()
  await nextTurn()
  assert.deepEqual(read, ['first', 'slow', 'late', 'last', 'new'])
  now += 100
  readInTurn(() => read.push('again at once'))
  assert.equal(read.at(-1), 'again at once')
})
