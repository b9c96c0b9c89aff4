import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FairQueue } from '../../src/store/fair-queue.ts'

interface Item {
  readonly client: string
  readonly number: number
}

const itemsOf = (client: string, count: number): Item[] =>
  Array.from({ length: count }, (_, i) => ({ client, number: i + 1 }))

function newQueue(...items: Item[]): FairQueue<Item> {
  const queue = new FairQueue<Item>(10)
  for (const item of items) queue.add(item)
  return queue
}

const nameOf = (item: Item | undefined) => item && `${item.client}${item.number}`

function takeAll(queue: FairQueue<Item>): (string | undefined)[] {
  return Array.from({ length: queue.size }, () => nameOf(queue.take()))
}

describe('a queue in which clients take turns', () => {
  it('takes one item of each client in turn, and those of a client in their order', () => {
    const queue = newQueue(...itemsOf('a', 4), ...itemsOf('b', 2), ...itemsOf('c', 1))
    assert.equal(queue.size, 7)
    assert.deepEqual(takeAll(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
    assert.equal(queue.size, 0)
    assert.equal(queue.take(), undefined)
  })

  it('takes that of a new client before the next one of the client that had the last turn', () => {
    const queue = newQueue(...itemsOf('a', 3))
    assert.equal(nameOf(queue.take()), 'a1')
    for (let i = 1; i <= 2; i++) {
      queue.add({ client: 'b', number: i })
      assert.equal(nameOf(queue.peek()), `b${i}`)
      assert.deepEqual([nameOf(queue.take()), nameOf(queue.take())], [`b${i}`, `a${i + 1}`])
    }
  })

  it('lets no new clients come before one that has waited for its turn', () => {
    const queue = newQueue(...itemsOf('a', 2), ...itemsOf('b', 2))
    assert.equal(nameOf(queue.take()), 'a1')
    queue.add({ client: 'c', number: 1 })
    assert.deepEqual(takeAll(queue), ['b1', 'c1', 'a2', 'b2'])
  })

  it('passes over a client that may not have its turn, which then comes first', () => {
    const queue = newQueue(...itemsOf('a', 1), ...itemsOf('b', 2), ...itemsOf('c', 1))
    const notA = (client: string) => client !== 'a'
    assert.equal(nameOf(queue.peek(notA)), 'b1')
    assert.deepEqual([nameOf(queue.take(notA)), nameOf(queue.take(notA))], ['b1', 'c1'])
    assert.deepEqual(takeAll(queue), ['a1', 'b2'])
    assert.equal(newQueue(...itemsOf('a', 1)).take(notA), undefined)
  })

  it('forgets what is deleted, once', () => {
    const [first, second] = itemsOf('a', 2) as [Item, Item]
    const queue = newQueue(first, second, ...itemsOf('b', 1))
    queue.delete(first)
    queue.delete(first)
    assert.equal(queue.size, 2)
    queue.delete(second)
    assert.deepEqual([...queue].map(nameOf), ['b1'])
    assert.deepEqual(takeAll(queue), ['b1'])
  })

  it('has no room for the last item of the client with the most, whoever comes', () => {
    const queue = newQueue(...itemsOf('a', 7), ...itemsOf('b', 3))
    assert.equal(nameOf(queue.add({ client: 'c', number: 1 })), 'a7')
    assert.equal(nameOf(queue.add({ client: 'a', number: 8 })), 'a8')
    assert.equal(queue.size, 10)
    assert.deepEqual(takeAll(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'b3', 'a4', 'a5', 'a6'])
  })

  it('has no room for a new client if all have as much', () => {
    const queue = newQueue(...Array.from({ length: 10 }, (_, i) => ({ client: `${i}`, number: 1 })))
    assert.equal(nameOf(queue.add({ client: 'a', number: 1 })), 'a1')
  })

  it('lists everything that waits, also while it is deleted', () => {
    const queue = newQueue(...itemsOf('a', 2), ...itemsOf('b', 2))
    const seen: (string | undefined)[] = []
    for (const item of queue) {
      seen.push(nameOf(item))
      queue.delete(item)
    }
    assert.deepEqual(seen, ['a1', 'a2', 'b1', 'b2'])
    assert.equal(queue.size, 0)
  })
})
