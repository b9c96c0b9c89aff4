import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { allMutants, testRows } from './mutations/mutants.ts'
import { unobservableOf } from './mutations/unobservable.ts'
import { SCRIPTS } from './run-all.ts'

const ROOT = join(import.meta.dirname, '..')

it('test:all runs every file of tests, in one tier each', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const filesOf = (script: string) => {
    const [, kind, paths = ''] = /test\/run\.ts (\w+)((?: [\w./]+)*)/.exec(scripts[script]) ?? []
    const roots = paths === '' ? ['test'] : paths.trim().split(' ')
    return globSync(
      roots.map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.${kind}.ts`)),
      { cwd: ROOT, exclude: ['**/node_modules'] },
    )
  }
  assert.deepEqual(
    SCRIPTS.flatMap(filesOf).sort(),
    globSync('{test,bench/test}/**/*.{test,long,release}.ts', {
      cwd: ROOT,
      exclude: ['**/node_modules'],
    }).sort(),
  )
})

it('CONTRIBUTING.md names tests that there are, for each file into which test:mutations puts mistakes', () => {
  const rows = testRows()
  const named = rows.flatMap(({ path, tests }) => [path, ...tests])
  assert.deepEqual(
    named.filter((path) => globSync(path, { cwd: ROOT }).length === 0),
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
