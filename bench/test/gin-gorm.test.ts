import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ginGorm } from '../src/gin-gorm.ts'

describe('the contender in Go', () => {
  it('says which packages it needs if it could not be built', () => {
    const nowhere = join(import.meta.dirname, 'no-such-program')
    assert.throws(() => ginGorm(nowhere), /golang-go .*gin-gonic.* .*gorm.* .*pq.* .*jwt/)
  })
})
