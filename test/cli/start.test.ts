import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { nodeFlags, VARIABLES } from '../../bin/start-options.js'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

describe('Node.js is started with the variables and flags of npm start', () => {
  const names = [...Object.keys(VARIABLES), ...nodeFlags().map((flag) => flag.split('=')[0] ?? flag)]

  for (const file of ['Dockerfile', 'docs/operations.md']) {
    it(`by ${file}`, () => {
      assert.ok(names.length > 2)
      for (const name of names) assert.ok(read(file).includes(name), name)
    })
  }
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

  for (const file of ['package.json', 'bench/package.json']) {
    const { scripts } = JSON.parse(read(file)) as { scripts: Record<string, string> }
    for (const [name, script] of Object.entries(scripts)) {
      it(`by ${name} of ${file}, in words that every shell understands`, () => {
        assert.doesNotMatch(script, LINK)
        assert.doesNotMatch(script, OTHER_NODE)
        assert.doesNotMatch(script, /^\w+=|\bexec\b|\|\||[';$%]/)
      })
    }
  }

  for (const file of ['.ci/run', ...globSync(['*.md', 'docs/*.md', 'bench/*.md'], { cwd: ROOT })])
    it(`by ${file}`, () => {
      const commands = file.endsWith('.md') ? read(file).match(/```.*?```|`[^`\n]+`/gs) : [read(file)]
      for (const command of commands ?? []) {
        assert.doesNotMatch(command, LINK)
        assert.doesNotMatch(command, OTHER_NODE)
      }
    })
})
