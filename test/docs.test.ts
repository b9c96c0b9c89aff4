import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { it } from 'node:test'

const ROOT = join(import.meta.dirname, '..')

/** A line of the layout: the indentation, then a directory, or files that are separated by commas. */
const LINE = /^( +)(?:([\w-]+)\/|([\w-]+\.ts(?:, [\w-]+\.ts)*)\s)/

/** The files of src that the layout in CONTRIBUTING.md names, by their paths in it. */
function listedFiles(): string[] {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const [, layout = ''] = /^src\/\n(.*?)^\S/ms.exec(text) ?? []
  let directory = ''
  return layout.split('\n').flatMap((line) => {
    const [, indentation = '', name, files = ''] = LINE.exec(line) ?? []
    if (indentation.length === 2) directory = name ?? ''
    return files === '' ? [] : files.split(', ').map((file) => posix.join(directory, file))
  })
}

it('CONTRIBUTING.md lists every file of src once, and no other', () => {
  const files = globSync('**/*.ts', { cwd: join(ROOT, 'src') }).map((path) => path.replaceAll('\\', '/'))
  assert.deepEqual(listedFiles().toSorted(), files.toSorted())
})
