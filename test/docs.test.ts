import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it } from 'node:test'
import { parseEnv } from 'node:util'
import { readConfig } from '../src/config.ts'
import { SETTING_NAMES } from '../src/settings.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const DOCUMENTS = globSync(['*.md', 'docs/*.md', 'examples/*.md', 'bench/README.md'], { cwd: ROOT })
const scriptsOf = (path: string) => Object.keys((JSON.parse(read(path)) as { scripts: object }).scripts)
const SCRIPTS = new Set([...scriptsOf('package.json'), ...scriptsOf('bench/package.json')])
/** What may read a setting, or set a variable of another program. */
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

for (const document of DOCUMENTS)
  it(`${document} names only paths, commands and settings that there are`, () => {
    const text = read(document)
    const code = codeIn(text).join('\n')
    const links = all(text, /\]\((?!https?:|#)([^)#\s]+)/g).map((path) => join(dirname(document), path))
    // A folder of this repository, and a path in it.
    const paths = all(code, /(?<![\w/.~:-])((?:src|test|web|bin|docs|deploy|examples|bench|\.ci)\/[\w./-]*)/g)
    const scripts = all(code, /npm run ([\w:-]+)/g)
    const commands = all(code, /(?:npx|npm exec) book-catalogue ([a-z]+)/g)
    // Address families (AF_…) and options of sockets (SO_…) are no settings.
    const settings = all(code, /(?<![\w$/])(?!AF_|SO_)([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w(])/g)
    const missing = [
      ...[...links, ...paths].filter((path) => !existsSync(join(ROOT, path))),
      ...scripts.filter((name) => !SCRIPTS.has(name)),
      ...commands.filter((name) => !existsSync(join(ROOT, `src/cli/commands/${name}.ts`))),
      ...settings.filter((name) => !PROGRAMS.includes(name)),
    ]
    assert.deepEqual(missing, [])
  })

it('docs/configuration.md describes every setting, and names the default of each that has one', () => {
  const text = read('docs/configuration.md')
  assert.deepEqual(
    SETTING_NAMES.filter((name) => !text.includes(`\`${name}\``)),
    [],
  )
  const rows = text.matchAll(/^\| `(\w+)` +\| `([^`]+)` +\|/gm)
  const defaults = Object.fromEntries(Array.from(rows, ([, ...row]) => row))
  assert.ok(Object.keys(defaults).length > 10)
  const others = { SECRET_TOKEN: 's', PASSWORD: 'p' }
  assert.deepEqual(readConfig({ ...defaults, ...others }), readConfig(others))
})

it('deploy/.env.example has every setting, sets none as it is, and shows the defaults', () => {
  const example = read('deploy/.env.example')
  assert.deepEqual(Object.keys(parseEnv(example)), [])
  const shown = parseEnv(example.replaceAll(/^#(?=[A-Z_]+=)/gm, ''))
  assert.deepEqual(Object.keys(shown).toSorted(), SETTING_NAMES.toSorted())
  const others = 'HOST METRICS_PORT TRUST_PROXY CORS_ORIGIN DB_URL_FILE PASSWORD_FILE SECRET_TOKEN_FILE'
  const fixed = { SECRET_TOKEN: 's', PASSWORD: 'p' }
  // A setting and its file exclude each other; of the others without a default, the example is one.
  for (const name of others.split(' ')) delete shown[name]
  assert.deepEqual(readConfig({ ...shown, ...fixed }), readConfig(fixed))
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
