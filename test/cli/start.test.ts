import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { nodeFlags, VARIABLES } from '../../bin/start-options.js'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

it('Node.js is started with the variables and flags of npm start by the image and the systemd unit', () => {
  const { NODE_COMPILE_CACHE: _elsewhere, ...variables } = VARIABLES
  const words = [...nodeFlags(), ...Object.entries(variables).map((variable) => variable.join('='))]
  for (const file of ['Dockerfile', 'deploy/book-catalogue.service', 'docs/operations.md'])
    for (const word of ['NODE_COMPILE_CACHE', ...words])
      assert.ok(read(file).includes(word), `${file}: ${word}`)
})

/**
 * npm before 11.7 leaves no link to the pinned Node.js in `node_modules/.bin`, so that `node` may be any version.
 * It may only run what finds the pinned one.
 */
describe('the pinned Node.js is found by its package', () => {
  const LINK = /\.bin\/node\b/
  /** `node` or `npx node` with something to run that is not for any version, as a command line or a list of arguments. */
  const OTHER_NODE =
    /(?<![\w:./-])node(?:[ \t]+|", ?")(?!(?:\.\.\/)?(?:bin\/(?:pinned-node|book-catalogue)|package\/build)\.js\b)[\w./"-]/

  for (const file of ['package.json', 'bench/package.json'])
    it(`by the scripts of ${file}, in words that every shell understands`, () => {
      const { scripts } = JSON.parse(read(file)) as { scripts: Record<string, string> }
      for (const script of Object.values(scripts))
        for (const other of [LINK, OTHER_NODE, /^\w+=|\bexec\b|\|\||[';$%]/])
          assert.doesNotMatch(script, other)
    })

  it('by .ci/run, and by the commands in documents', () => {
    for (const file of ['.ci/run', ...globSync(['*.md', 'docs/*.md', 'bench/*.md'], { cwd: ROOT })]) {
      const commands = file.endsWith('.md') ? read(file).match(/```.*?```|`[^`\n]+`/gs) : [read(file)]
      for (const command of commands ?? [])
        for (const other of [LINK, OTHER_NODE]) assert.doesNotMatch(command, other, file)
    }
  })
})
