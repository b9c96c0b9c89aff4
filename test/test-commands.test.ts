import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const ROOT = join(import.meta.dirname, '..')

it('npm test, test:faults or test:clusters runs every file of tests, and none is in two of them', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const filesOf = (script: string) => {
    const patterns = Array.from(scripts[script].matchAll(/"([^"]+)"/g), ([, pattern]) => pattern)
    return globSync(patterns, { cwd: ROOT })
  }
  // test:clusters runs all that its folder has.
  const clusters = globSync('test/clusters/*.test.ts', { cwd: ROOT })
  const run = [...filesOf('test'), ...filesOf('test:faults'), ...clusters]
  assert.deepEqual(
    run.sort(),
    globSync('test/**/*.{test,long}.ts', { cwd: ROOT, exclude: ['**/node_modules'] }).sort(),
  )
})
