import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { allMutants, testRows, unobservableOf } from './mutations/mutants.ts'
import { SCRIPTS } from './run-all.ts'

const ROOT = join(import.meta.dirname, '..')

const find = (...patterns: string[]) =>
  globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules'] }).toSorted()

it('test:all runs every file of tests, in one tier each', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const run = SCRIPTS.flatMap((script) => {
    const [, kind, paths = ''] = /test\/run\.ts (\w+)((?: [\w./]+)*)/.exec(scripts[script]) ?? []
    const roots = paths.trim() || 'test'
    return roots.split(' ').flatMap((path) => find(path.endsWith('.ts') ? path : `${path}/**/*.${kind}.ts`))
  })
  assert.deepEqual(run.toSorted(), find('{test,bench/test}/**/*.{test,long,release}.ts'))
})

it('test:mutations finds tests in CONTRIBUTING.md for each mistake, and each that it leaves out is possible', () => {
  const rows = testRows()
  for (const path of rows.flatMap(({ path, tests }) => [path, ...tests]))
    assert.ok(find(path).length > 0, path)
  const mutants = allMutants()
  for (const { file } of mutants)
    assert.ok(
      rows.some(({ path }) => file.startsWith(path)),
      file,
    )
  assert.ok(unobservableOf(mutants).size > 0)
})
