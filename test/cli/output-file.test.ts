import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { writeNewFile } from '../../src/cli/output-file.ts'
import { temporaryDirectory } from '../support/service.ts'

describe('a new file', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const path = join(directory.path, 'new')
  const files = () => readdirSync(directory.path)

  it('has all its parts once it has its name', async () => {
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
    rmSync(path)
  })

  it('may have the longest name that there is', async () => {
    const name = `${'本'.repeat(84)}csv`
    await writeNewFile(join(directory.path, name), [])
    assert.deepEqual(files(), [name])
    rmSync(join(directory.path, name))
  })

  it('leaves nothing behind when it fails, at once or later', async () => {
    const failure = new Error('boom')
    for (const parts of [[], ['some']]) {
      async function* failing() {
        yield* parts
        throw failure
      }
      await assert.rejects(writeNewFile(path, failing()), failure)
      // An operation that had begun before has ended after others like it.
      for (let i = 0; i < 10; i++) await readdir('.')
      assert.deepEqual(files(), [])
    }
  })
})
