import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { giveName, partFileOf } from '../../src/store/durable-files.ts'
import { callWhile, straceMissing } from '../faults/strace.ts'
import { temporaryDirectory } from '../support/service.ts'

const SOURCE = resolve(import.meta.dirname, '../../src/store/durable-files.ts')
const skip = process.env.FAULTS !== 'required' && straceMissing

it('a directory that is made is flushed to the disk with each of its new parents', { skip }, () => {
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

  it('is flushed to the disk before, and its name afterwards', { skip }, () => {
    for (const flush of [1, 2]) {
      using file = complete()
      assert.equal(
        callWhile([`fsync:error=EIO:when=${flush}`], SOURCE, 'giveName', file.part, file.path),
        'EIO',
      )
      assert.equal(existsSync(file.path), flush === 2)
    }
  })

  for (const where of ['anywhere', 'where files cannot have two names'] as const)
    describe(where, { skip: where !== 'anywhere' && skip }, () => {
      /** @returns the code of the error. */
      const give = (part: string, path: string, ...faults: string[]) =>
        where === 'anywhere'
          ? codeOf(() => giveName(part, path))
          : callWhile(['link,linkat:error=EPERM', ...faults], SOURCE, 'giveName', part, path)

      it('has it then, and no other', () => {
        using file = complete()
        assert.equal(give(file.part, file.path), '')
        assert.deepEqual(readdirSync(file.directory), ['new'])
        assert.equal(readFileSync(file.path, 'utf8'), 'complete')
      })

      it('does not take it from another', () => {
        using file = complete()
        writeFileSync(file.path, 'other')
        assert.equal(give(file.part, file.path), 'EEXIST')
        assert.equal(readFileSync(file.path, 'utf8'), 'other')
      })

      if (where !== 'anywhere')
        it('leaves no empty file behind when it cannot have it', () => {
          using file = complete()
          assert.equal(give(file.part, file.path, 'rename,renameat,renameat2:error=EIO'), 'EIO')
          assert.deepEqual(readdirSync(file.directory), [basename(file.part)])
        })
    })
})

function codeOf(call: () => void): string {
  try {
    call()
    return ''
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}
