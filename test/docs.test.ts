import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { knownSettings } from './support/known-settings.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const DOCUMENTS = globSync(['*.md', 'docs/*.md', 'examples/*.md', 'bench/README.md'], { cwd: ROOT })
const scriptsOf = (path: string) => Object.keys((JSON.parse(read(path)) as { scripts: object }).scripts)
const SCRIPTS = new Set([...scriptsOf('package.json'), ...scriptsOf('bench/package.json')])
const COMMANDS = readdirSync(join(ROOT, 'src/cli/commands')).map((name) => name.slice(0, -'.ts'.length))
/**
 * What may read a setting, or set a variable of another program. Address families (AF_…) and options of sockets (SO_…)
 * are neither.
 */
const PROGRAMS = ['src', 'bin', 'test', 'bench/src', 'bench/contenders']
  .flatMap((folder) => globSync(`${folder}/**/*.{ts,js}`, { cwd: ROOT }))
  .concat('.ci/run', 'Dockerfile', 'package.json', globSync('deploy/*.yaml', { cwd: ROOT }))
  .map(read)
  .join('\n')

/** The parts of a document that are code: in backquotes, or in a block. */
function codeIn(text: string): string[] {
  return Array.from(
    text.matchAll(/```\w*\n(.*?)```|`([^`\n]+)`/gs),
    ([, block, inline]) => block ?? inline ?? '',
  )
}

const all = (text: string, pattern: RegExp) => Array.from(text.matchAll(pattern), ([, found = '']) => found)

describe('every document names only what there is', () => {
  for (const document of DOCUMENTS) {
    const text = read(document)
    const code = codeIn(text).join('\n')

    it(`${document}: paths`, () => {
      const links = all(text, /\]\((?!https?:|#)([^)#\s]+)/g).map((path) => join(dirname(document), path))
      // A folder of this repository, and a path in it.
      const paths = all(
        code,
        /(?<![\w/.~:-])((?:src|test|web|bin|docs|deploy|examples|bench|\.ci)\/[\w./-]*)/g,
      )
      const missing = [...links, ...paths].filter((path) => !existsSync(join(ROOT, path)))
      assert.deepEqual(missing, [])
    })

    it(`${document}: commands`, () => {
      const scripts = all(code, /npm run ([\w:-]+)/g).filter((name) => !SCRIPTS.has(name))
      const commands = all(code, /(?:npx|npm exec) book-catalogue ([a-z]+)/g)
      assert.deepEqual([...scripts, ...commands.filter((name) => !COMMANDS.includes(name))], [])
    })

    it(`${document}: settings`, () => {
      const settings = all(code, /(?<![\w$/])(?!AF_|SO_)([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w(])/g)
      assert.deepEqual(
        settings.filter((name) => !PROGRAMS.includes(name)),
        [],
      )
    })
  }
})

it('docs/configuration.md describes every setting', () => {
  const text = read('docs/configuration.md')
  assert.deepEqual(
    knownSettings().filter((name) => !text.includes(`\`${name}\``)),
    [],
  )
})

it('every place has the version of package.json', () => {
  const { name, version } = JSON.parse(read('package.json'))
  const lock = JSON.parse(read('package-lock.json'))
  const packages = DOCUMENTS.flatMap(
    (document) => read(document).match(RegExp(`${name}-[\\d.]+\\.tgz`, 'g')) ?? [],
  )
  assert.deepEqual([...new Set(packages)], [`${name}-${version}.tgz`])
  assert.deepEqual([lock.version, lock.packages[''].version], [version, version])
  const [, released] = /^## (?!Unreleased)(\S+)/m.exec(read('CHANGELOG.md')) ?? []
  assert.equal(released, version)
})

it('the report of the benchmark is about this release or the one before', () => {
  const { version } = JSON.parse(read('bench/results.json')) as { version: string }
  const releases = all(read('CHANGELOG.md'), /^## (\d\S+)/gm).slice(0, 2)
  assert.ok(
    releases.some((release) => version.startsWith(`${release} (`)),
    `it is about ${version}`,
  )
})
