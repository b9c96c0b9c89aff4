import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { partFileOf } from '../../src/store/durable-files.ts'
import { callWhile, straceMissing } from '../faults/strace.ts'
import { temporaryDirectory } from '../support/service.ts'

const SOURCE = resolve(import.meta.dirname, '../../src/store/durable-files.ts')

const flushFails = (number: number) => `fsync:error=EIO:when=${number}`

/** As where files cannot have two names. */
const NO_LINKS = 'link,linkat:error=EPERM'

describe('what survives a power cut', { skip: straceMissing }, () => {
  it('is a directory that is made, flushed to the disk with each of its new parents', () => {
    for (const [flush, code] of [
      [1, 'EIO'],
      [2, 'EIO'],
      [3, ''],
    ] as const) {
      const { path, remove } = temporaryDirectory()
      assert.equal(callWhile([flushFails(flush)], SOURCE, 'makeDirectory', join(path, 'a/b')), code)
      remove()
    }
  })

  for (const [what, faults, other, code, left] of [
    ['is flushed to the disk before', [flushFails(1)], undefined, 'EIO', undefined],
    ['is flushed to the disk with its name', [flushFails(2)], undefined, 'EIO', 'complete'],
    ['has its name then, and no other', [], undefined, '', 'complete'],
    ['does not take its name from another', [], 'other', 'EEXIST', 'other'],
    ['has its name where files cannot have two', [NO_LINKS], undefined, '', 'complete'],
    ['does not take its name from another there either', [NO_LINKS], 'other', 'EEXIST', 'other'],
    ['leaves no empty file', [NO_LINKS, 'rename,renameat,renameat2:error=EIO'], undefined, 'EIO', undefined],
  ] as const)
    it(`is a file that takes its name when it is complete: it ${what}`, () => {
      const { path: directory, remove } = temporaryDirectory()
      const path = join(directory, 'new')
      const part = partFileOf(path)
      // Nobody can guess it, and so put a symbolic link in its place.
      assert.notEqual(part, partFileOf(path))
      writeFileSync(part, 'complete')
      if (other !== undefined) writeFileSync(path, other)
      assert.equal(callWhile(faults, SOURCE, 'giveName', part, path), code)
      const names = readdirSync(directory).filter((name) => code === '' || name !== basename(part))
      assert.deepEqual(names, left === undefined ? [] : ['new'])
      if (left !== undefined) assert.equal(readFileSync(path, 'utf8'), left)
      remove()
    })

  for (const [what, faults, code, ...left] of [
    ['is flushed to the disk before', [flushFails(1)], 'EIO', 'old', undefined],
    ['is flushed to the disk with its name', [flushFails(2)], 'EIO', 'new', 'old'],
    [
      'copies and flushes the other where files cannot have two',
      [NO_LINKS, flushFails(2)],
      'EIO',
      'old',
      'old',
    ],
    ['overwrites nothing with the other', [], 'EEXIST', 'old', 'older'],
  ] as const)
    it(`is a file that takes the place of another: it ${what}`, () => {
      const { path: directory, remove } = temporaryDirectory()
      const paths = ['new', 'old', 'older'].map((name) => join(directory, name))
      for (const path of paths.slice(0, code === 'EEXIST' ? 3 : 2)) writeFileSync(path, basename(path))
      assert.equal(callWhile(faults, SOURCE, 'replaceFile', ...paths), code)
      const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)
      assert.deepEqual(paths.slice(1).map(textOf), left)
      remove()
    })
})
