import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FairQueue } from '../../src/store/fair-queue.ts'

interface Item {
  readonly client: string
  readonly number: number
}

/** An item by its name: the client and a number. */
const item = (name: string): Item => ({ client: name[0] ?? '', number: Number(name.slice(1)) })

function newQueue(names: string): FairQueue<Item> {
  const queue = new FairQueue<Item>(10)
  for (const name of names.split(' ')) queue.add(item(name))
  return queue
}

const nameOf = (item: Item | undefined) => item && `${item.client}${item.number}`
const take = (queue: FairQueue<Item>) => nameOf(queue.take())
const takeAll = (queue: FairQueue<Item>) => Array.from({ length: queue.size }, () => take(queue)).join(' ')

describe('a queue in which clients take turns', () => {
  it('takes one item of each client in turn, and those of a client in their order', () => {
    const queue = newQueue('a1 a2 a3 a4 b1 b2 c1')
    assert.equal(queue.size, 7)
    assert.equal(takeAll(queue), 'a1 b1 c1 a2 b2 a3 a4')
    assert.deepEqual([queue.size, queue.take()], [0, undefined])
  })

  it('takes that of a new client before the next one of the client that had the last turn, and of no other', () => {
    const queue = newQueue('a1 a2 a3 b1 b2')
    assert.equal(take(queue), 'a1')
    queue.add(item('c1'))
    assert.equal(nameOf(queue.peek()), 'b1')
    queue.add(item('d1'))
    assert.equal(takeAll(queue), 'b1 c1 a2 d1 b2 a3')
  })

  it('passes over a client that may not have its turn, which then comes first', () => {
    const queue = newQueue('a1 b1 b2 c1')
    const notA = (client: string) => client !== 'a'
    assert.equal(nameOf(queue.peek(notA)), 'b1')
    assert.deepEqual([nameOf(queue.take(notA)), nameOf(queue.take(notA))], ['b1', 'c1'])
    assert.equal(takeAll(queue), 'a1 b2')
    assert.equal(newQueue('a1').take(notA), undefined)
  })

  it('forgets what is deleted, once', () => {
    const queue = newQueue('b1 b2')
    const gone = item('a1')
    queue.add(gone)
    for (let i = 0; i < 2; i++) queue.delete(gone)
    assert.equal(queue.size, 2)
    assert.equal(takeAll(queue), 'b1 b2')
  })

  it('has no room for the last item of the client with the most, whoever comes', () => {
    const queue = newQueue('a1 a2 a3 a4 a5 a6 a7 b1 b2 b3')
    assert.equal(nameOf(queue.add(item('c1'))), 'a7')
    assert.equal(nameOf(queue.add(item('a8'))), 'a8')
    assert.equal(queue.size, 10)
    assert.equal(takeAll(queue), 'a1 b1 c1 a2 b2 a3 b3 a4 a5 a6')
    // All have as much as the new client would have.
    assert.equal(nameOf(newQueue('a1 b1 c1 d1 e1 f1 g1 h1 i1 j1').add(item('k1'))), 'k1')
  })
})
