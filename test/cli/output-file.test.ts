import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { writeNewFile } from '../../src/cli/output-file.ts'
import { OperatorError } from '../../src/errors.ts'
import { temporaryDirectory } from '../support/service.ts'

function newPath(t: TestContext) {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  return { path: join(directory.path, 'new'), files: () => readdirSync(directory.path) }
}

describe('a new file', () => {
  it('has all its parts once it has its name', async (t) => {
    const { path, files } = newPath(t)
    // The short ones at the end wait for each other.
    const parts = ['a'.repeat(1_000_000), ...Array(100).fill('é\n')]
    async function* all() {
      for (const part of parts) {
        assert.ok(!files().includes('new'))
        yield part
      }
    }
    await writeNewFile(path, all())
    assert.equal(readFileSync(path, 'utf8'), parts.join(''))
    assert.deepEqual(files(), ['new'])
  })

  for (const parts of [[], ['some']])
    it(`leaves nothing behind when it fails after ${parts.length} parts`, async (t) => {
      const { path, files } = newPath(t)
      const failure = new Error('boom')
      async function* failing() {
        yield* parts
        throw failure
      }
      await assert.rejects(writeNewFile(path, failing()), failure)
      // An operation that had begun before has ended after others like it.
      for (let i = 0; i < 10; i++) await readdir('.')
      assert.deepEqual(files(), [])
    })

  it('does not replace one that another program makes meanwhile', async (t) => {
    const { path, files } = newPath(t)
    async function* parts() {
      writeFileSync(path, 'mine')
      yield 'ours'
    }
    await assert.rejects(writeNewFile(path, parts()), OperatorError)
    assert.deepEqual(files(), ['new'])
    assert.equal(readFileSync(path, 'utf8'), 'mine')
  })
})
