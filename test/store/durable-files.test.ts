import assert from 'node:assert/strict'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { callWhile, straceMissing } from '../faults/strace.ts'
import { temporaryDirectory } from '../support/service.ts'

const SOURCE = resolve(import.meta.dirname, '../../src/store/durable-files.ts')
const skip = process.env.FAULTS !== 'required' && straceMissing

describe('a directory that is made', { skip }, () => {
  it('is flushed to the disk with each of its new parents', () => {
    for (const [flush, code] of [
      [1, 'EIO'],
      [2, 'EIO'],
      [3, ''],
    ] as const) {
      const directory = temporaryDirectory()
      const faults = [`fsync:error=EIO:when=${flush}`]
      assert.equal(callWhile(faults, SOURCE, 'makeDirectory', join(directory.path, 'a/b')), code)
      directory.remove()
    }
  })
})
