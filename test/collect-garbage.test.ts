import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { idleCheck } from '../src/collect-garbage.ts'

const MIB = 1024 * 1024

describe('an idle process', () => {
  let memory: number
  let collections: number
  let check: (isIdle: boolean) => void
  beforeEach(() => {
    memory = 100 * MIB
    collections = 0
    check = idleCheck(
      () => memory,
      () => collections++,
    )
  })
  const checkTimes = (times: number, isIdle = true) => {
    for (let i = 0; i < times; i++) check(isIdle)
    return collections
  }

  it('collects no garbage until it has grown by 32 MiB', () => {
    memory += 32 * MIB
    assert.equal(checkTimes(5), 0)
    memory += 1
    assert.equal(checkTimes(1), 1)
  })

  it('collects none while it is busy', () => {
    memory += 50 * MIB
    assert.equal(checkTimes(5, false), 0)
  })

  it('collects twice if that does not help', () => {
    memory += 50 * MIB
    assert.equal(checkTimes(5), 2)
  })

  it('collects again after it was busy', () => {
    memory += 50 * MIB
    checkTimes(5)
    checkTimes(1, false)
    assert.equal(checkTimes(5), 4)
  })

  it('collects again after it has grown by 32 MiB since, and not by less', () => {
    memory += 50 * MIB
    checkTimes(5)
    memory += 32 * MIB
    assert.equal(checkTimes(5), 2)
    memory += 1
    assert.equal(checkTimes(5), 4)
  })

  it('counts growth from the least that it had since the last collection', () => {
    memory += 80 * MIB
    checkTimes(5)
    memory -= 40 * MIB
    checkTimes(1)
    memory += 33 * MIB
    assert.equal(checkTimes(5), 4)
  })
})
