import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { unobservableOf } from './mutations-unobservable.ts'
import { allMutants, testRows } from './support/mutants.ts'

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

it('CONTRIBUTING.md names tests that there are, for each file into which test:mutations puts mistakes', () => {
  const rows = testRows()
  const named = rows.flatMap(({ path, tests }) => [path, ...tests])
  assert.deepEqual(
    named.filter((path) => !existsSync(join(ROOT, path))),
    [],
  )
  for (const { file } of allMutants())
    assert.ok(
      rows.some(({ path }) => file.startsWith(path)),
      file,
    )
})

it('each mistake that test:mutations leaves out as unobservable is still possible', () => {
  assert.ok(unobservableOf(allMutants()).size > 0)
})
