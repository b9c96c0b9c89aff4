import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { giveName, partFileOf } from '../../src/store/durable-files.ts'
import { callWhile, straceMissing } from '../faults/strace.ts'
import { temporaryDirectory } from '../support/service.ts'

const SOURCE = resolve(import.meta.dirname, '../../src/store/durable-files.ts')
const skip = process.env.FAULTS !== 'required' && straceMissing

const giveNameWhile = (faults: readonly string[], part: string, path: string) =>
  callWhile(faults, SOURCE, 'giveName', part, path)

describe('a file that takes its name when it is complete', () => {
  /** A directory with a complete part. */
  const complete = () => {
    const { path: directory, remove } = temporaryDirectory()
    const path = join(directory, 'new')
    const part = partFileOf(path)
    writeFileSync(part, 'complete')
    return { directory, part, path, [Symbol.dispose]: remove }
  }

  it('has a name before that nobody can guess, and so put a symbolic link in its place', () => {
    assert.notEqual(partFileOf('new'), partFileOf('new'))
  })

  it('has it then, and no other', () => {
    using file = complete()
    giveName(file.part, file.path)
    assert.deepEqual(readdirSync(file.directory), ['new'])
    assert.equal(readFileSync(file.path, 'utf8'), 'complete')
  })

  it('does not take it from another', () => {
    using file = complete()
    writeFileSync(file.path, 'other')
    assert.throws(() => giveName(file.part, file.path), { code: 'EEXIST' })
    assert.equal(readFileSync(file.path, 'utf8'), 'other')
  })

  it('is flushed to the disk before, and its name afterwards', { skip }, () => {
    for (const flush of [1, 2]) {
      using file = complete()
      assert.equal(giveNameWhile([`fsync:error=EIO:when=${flush}`], file.part, file.path), 'EIO')
      assert.equal(existsSync(file.path), flush === 2)
    }
  })

  describe('where files cannot have two names', { skip }, () => {
    const NO_LINKS = 'link,linkat:error=EPERM'

    it('has it then, and no other', () => {
      using file = complete()
      assert.equal(giveNameWhile([NO_LINKS], file.part, file.path), '')
      assert.deepEqual(readdirSync(file.directory), ['new'])
      assert.equal(readFileSync(file.path, 'utf8'), 'complete')
    })

    it('does not take it from another', () => {
      using file = complete()
      writeFileSync(file.path, 'other')
      assert.equal(giveNameWhile([NO_LINKS], file.part, file.path), 'EEXIST')
      assert.equal(readFileSync(file.path, 'utf8'), 'other')
    })

    it('leaves no empty file behind when it cannot have it', () => {
      using file = complete()
      const faults = [NO_LINKS, 'rename,renameat,renameat2:error=EIO']
      assert.equal(giveNameWhile(faults, file.part, file.path), 'EIO')
      assert.deepEqual(readdirSync(file.directory), [basename(file.part)])
    })
  })
})
