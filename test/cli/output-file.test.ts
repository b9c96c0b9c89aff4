import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { writeNewFile } from '../../src/cli/output-file.ts'
import { OperatorError } from '../../src/errors.ts'
import { temporaryDirectory } from '../support/service.ts'

describe('a new file', () => {
  let directory: ReturnType<typeof temporaryDirectory>
  let path: string
  beforeEach(() => {
    directory = temporaryDirectory()
    path = join(directory.path, 'new')
  })
  afterEach(() => directory.remove())

  it('has all its parts once it has its name', async () => {
    // The short ones at the end wait for each other.
    const parts = ['a'.repeat(1_000_000), ...Array(100).fill('é\n')]
    async function* all() {
      for (const part of parts) {
        assert.doesNotMatch(readdirSync(directory.path).join(), /^new$/)
        yield part
      }
    }
    await writeNewFile(path, all())
    assert.equal(readFileSync(path, 'utf8'), parts.join(''))
    assert.deepEqual(readdirSync(directory.path), ['new'])
  })

  for (const parts of [[], ['some']]) {
    it(`leaves nothing behind when it fails after ${parts.length} parts`, async () => {
      const failure = new Error('boom')
      async function* failing() {
        yield* parts
        throw failure
      }
      await assert.rejects(writeNewFile(path, failing()), failure)
      // Time for what should not happen any more.
      await setTimeout(20)
      assert.deepEqual(readdirSync(directory.path), [])
    })
  }

  it('does not replace one that another program makes meanwhile', async () => {
    async function* parts() {
      writeFileSync(path, 'mine')
      yield 'ours'
    }
    await assert.rejects(writeNewFile(path, parts()), OperatorError)
    assert.deepEqual(readdirSync(directory.path), ['new'])
    assert.equal(readFileSync(path, 'utf8'), 'mine')
  })
})
